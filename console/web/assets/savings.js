// What the bots did, in the few numbers that count. No document here.

/** What was saved, against one model call and one reply for each message that a webhook brought. */
export function savings({ inputs = 0, duplicates = 0, replies = 0, messages_answered: answered = 0, discards = 0, model_calls: calls = 0, tokens_discarded: tokens = 0, replaced = 0 }) {
	const naive = inputs + duplicates;
	const saved = Math.max(0, naive - calls);
	const each = discards && tokens ? tokens / discards : 0;
	return { coalesced: Math.max(0, answered - replies), repeats: duplicates, stale: discards, naive, calls, plain: Math.max(0, calls - replaced), saved, wasted: tokens, each: Math.round(each), tokens: Math.round(saved * each) };
}

/** The counts of each bucket, from cumulative ones. The last bucket has no upper bound. */
export function buckets({ bounds = [], counts = [], count = 0 }) {
	return [...bounds, Infinity].map((to, index) => {
		const upTo = index < bounds.length ? counts[index] ?? 0 : Math.max(count, counts.at(-1) ?? 0);
		return { from: index ? bounds[index - 1] : 0, to, count: Math.max(0, upTo - (index ? counts[index - 1] ?? 0 : 0)) };
	});
}

/** The time within which that part of the replies came, read off between two bounds. Null where there are none. */
export function quantile(histogram, part) {
	const all = buckets(histogram);
	const total = all.reduce((sum, { count }) => sum + count, 0);
	if (!total) return null;
	let before = 0;
	for (const { from, to, count } of all) {
		if (count && before + count >= part * total) return to === Infinity ? from : from + ((part * total - before) / count) * (to - from);
		before += count;
	}
	return all.at(-1).from;
}
