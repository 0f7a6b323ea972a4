// Reasons, times and numbers in words.

const reasons = {
	superseded: 'newer input came',
	replaced: 'newer input came within the quiet time',
	paused: 'the conversation was paused',
	deleted: 'nothing is left to answer',
	closed_by_human: 'a person answered instead',
	reset: 'the conversation began afresh',
	stopped: 'a stop word came',
	withdrawn: 'it was not delivered yet, and newer input came',
	worker_lost: 'its worker went away',
	turns_per_minute: 'too many turns started within a minute',
	unknown_outcome: 'nobody knows whether it arrived',
	handed_back: 'its node is closing, and another goes on',
	outage: 'the model could not be reached',
	failure: 'the model’s call failed',
	rejected: 'the model refused the request',
	prompt_bytes: 'what waits is too much for one prompt, and is answered in parts',
};

/** A reason code in words; what a person or a program wrote stays as it is. */
export const because = (reason) => (Object.hasOwn(reasons, reason ?? '') ? reasons[reason] : reason ?? '');

/** Milliseconds as seconds with one decimal. */
export const seconds = (milliseconds) => (milliseconds < 100 ? `${Math.round(milliseconds)} ms` : milliseconds < 99_950 ? `${(milliseconds / 1000).toFixed(1)} s` : lasting(milliseconds));

/** How long, in the unit that fits: "0.4 s", "12 s", "5 min", "3 h", "2 days". */
export function lasting(milliseconds) {
	const whole = Math.max(0, milliseconds) / 1000;
	if (whole < 10) return `${whole.toFixed(1)} s`;
	if (whole < 100) return `${Math.round(whole)} s`;
	if (whole < 5400) return `${Math.round(whole / 60)} min`;
	return whole < 129_600 ? `${Math.round(whole / 3600)} h` : `${Math.round(whole / 86_400)} days`;
}

/** A time of day of 24 hours: to the minute, or with so many digits after the second. */
export const timeOf = (at, digits) => new Date(at).toLocaleTimeString([], {
	hour: '2-digit', minute: '2-digit', hourCycle: 'h23', ...(digits >= 0 && { second: '2-digit', fractionalSecondDigits: digits || undefined }),
});

export const amount = (number) => (number ?? 0).toLocaleString('en');

export const plural = (count, noun) => `${amount(count)} ${noun}${count === 1 ? '' : 's'}`;

/** "1, 2 and 5", or "1 to 12", from the ids of messages. */
export function numbers(ids, conversation) {
	const list = ids.map((id) => conversation.message(id)?.number);
	if (!list.every(Boolean)) return ''; // they are on an earlier page
	const last = list.pop();
	if (list.length > 5 && last - list[0] === list.length) return `${list[0]} to ${last}`;
	return list.length ? `${list.join(', ')} and ${last}` : String(last);
}
