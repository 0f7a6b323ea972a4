package main

import (
	"go/ast"
	"go/token"
	"go/types"
	"strconv"
	"strings"
)

// walker finds the changes in one declaration.
type walker struct {
	pkg      *pkg
	file     *source
	function string
	path     []ast.Node // from the declaration to the node that is visited
	found    []*change
}

// Visit looks at one node, and at all below it but what only people read.
func (w *walker) Visit(node ast.Node) ast.Visitor {
	if node == nil {
		w.path = w.path[:len(w.path)-1]
		return w
	}
	if w.onlyRead(node) {
		return nil
	}
	w.path = append(w.path, node)
	switch n := node.(type) {
	case *ast.BinaryExpr:
		w.binary(n)
		w.negate(n.X, n.Op == token.LAND || n.Op == token.LOR)
		w.negate(n.Y, n.Op == token.LAND || n.Op == token.LOR)
	case *ast.UnaryExpr:
		if n.Op == token.NOT {
			w.add("negation", n.OpPos, n.X.Pos(), "")
		}
	case *ast.BasicLit:
		w.literal(n)
	case *ast.Ident:
		w.constant(n)
	case *ast.IncDecStmt:
		w.add("arithmetic", n.TokPos, n.TokPos+2, map[token.Token]string{token.INC: "--", token.DEC: "++"}[n.Tok])
	case *ast.AssignStmt:
		w.assignment(n)
	case *ast.IfStmt:
		w.negate(n.Cond, true)
	case *ast.ForStmt:
		w.negate(n.Cond, n.Cond != nil)
	case *ast.ReturnStmt:
		for _, result := range n.Results {
			w.negate(result, true)
		}
	case *ast.KeyValueExpr:
		w.negate(n.Value, true)
	case *ast.CallExpr:
		w.arguments(n)
	case *ast.CompositeLit:
		w.fields(n)
	case *ast.BlockStmt:
		w.statements(n.List)
	case *ast.CaseClause:
		w.statements(n.Body)
	case *ast.CommClause:
		w.statements(n.Body)
	}
	return w
}

// onlyRead reports whether a node is read by people only: an import, a log line,
// or the text of an error. No check is expected to see a change of it.
func (w *walker) onlyRead(node ast.Node) bool {
	if statement, ok := node.(*ast.ExprStmt); ok {
		node = statement.X
	}
	switch n := node.(type) {
	case *ast.GenDecl:
		return n.Tok == token.IMPORT || n.Tok == token.TYPE
	case *ast.CallExpr:
		if identifier, ok := n.Fun.(*ast.Ident); ok {
			return identifier.Name == "panic"
		}
		selector, ok := n.Fun.(*ast.SelectorExpr)
		if !ok {
			return false
		}
		called := w.pkg.info.Uses[selector.Sel]
		if called == nil || called.Pkg() == nil {
			return false
		}
		from := called.Pkg().Path()
		return from == "log/slog" || from == "fmt" && called.Name() == "Errorf" || from == "errors" && called.Name() == "New"
	}
	return false
}

// turned is what each operator becomes: comparisons are moved by one and turned
// round, the others become their opposite.
var turned = map[token.Token][]token.Token{
	token.LSS:  {token.LEQ, token.GEQ},
	token.LEQ:  {token.LSS, token.GTR},
	token.GTR:  {token.GEQ, token.LEQ},
	token.GEQ:  {token.GTR, token.LSS},
	token.EQL:  {token.NEQ},
	token.NEQ:  {token.EQL},
	token.LAND: {token.LOR},
	token.LOR:  {token.LAND},
	token.ADD:  {token.SUB},
	token.SUB:  {token.ADD},
	token.MUL:  {token.QUO},
	token.QUO:  {token.MUL},
}

func (w *walker) binary(n *ast.BinaryExpr) {
	kind := "comparison"
	switch n.Op {
	case token.LAND, token.LOR:
		kind = "logic"
	case token.ADD, token.SUB, token.MUL, token.QUO:
		kind = "arithmetic"
	}
	for _, other := range turned[n.Op] {
		w.add(kind, n.OpPos, n.OpPos+token.Pos(len(n.Op.String())), other.String())
	}
}

// negate turns a boolean round where nothing else does: a comparison and a
// negation have changes of their own.
func (w *walker) negate(e ast.Expr, wanted bool) {
	if !wanted {
		return
	}
	switch e.(type) {
	case *ast.Ident, *ast.SelectorExpr, *ast.CallExpr, *ast.IndexExpr:
	default:
		return
	}
	value := w.pkg.info.Types[e]
	if value.Value != nil || value.Type == nil {
		return
	}
	if basic, ok := value.Type.Underlying().(*types.Basic); ok && basic.Info()&types.IsBoolean != 0 {
		w.add("negation", e.Pos(), e.End(), "!"+w.file.code(e))
	}
}

// literal moves a whole number by one.
func (w *walker) literal(n *ast.BasicLit) {
	if n.Kind != token.INT {
		return
	}
	number, err := strconv.ParseInt(n.Value, 0, 64)
	if err == nil {
		w.add("bound", n.Pos(), n.End(), strconv.FormatInt(number+1, 10))
	}
}

// constant turns true and false.
func (w *walker) constant(n *ast.Ident) {
	if object := w.pkg.info.Uses[n]; object == nil || object.Parent() != types.Universe {
		return
	}
	switch n.Name {
	case "true":
		w.add("negation", n.Pos(), n.End(), "false")
	case "false":
		w.add("negation", n.Pos(), n.End(), "true")
	}
}

func (w *walker) assignment(n *ast.AssignStmt) {
	switch n.Tok {
	case token.ADD_ASSIGN:
		w.add("arithmetic", n.TokPos, n.TokPos+2, "-=")
	case token.SUB_ASSIGN:
		w.add("arithmetic", n.TokPos, n.TokPos+2, "+=")
	}
	for _, value := range n.Rhs {
		w.negate(value, len(n.Lhs) == len(n.Rhs))
	}
}

// arguments swaps neighbours of one type among the arguments of a call.
func (w *walker) arguments(n *ast.CallExpr) {
	if identifier, ok := n.Fun.(*ast.Ident); ok && (identifier.Name == "min" || identifier.Name == "max") {
		return // their order does not matter
	}
	for i := 1; i < len(n.Args); i++ {
		w.swap("arguments", n.Args[i-1], n.Args[i])
	}
}

// fields swaps each field of a struct with the next one of its type.
func (w *walker) fields(n *ast.CompositeLit) {
	value := w.pkg.info.Types[n]
	if value.Type == nil {
		return
	}
	if _, ok := value.Type.Underlying().(*types.Struct); !ok {
		return
	}
	var values []ast.Expr
	for _, element := range n.Elts {
		if pair, ok := element.(*ast.KeyValueExpr); ok {
			element = pair.Value
		}
		values = append(values, element)
	}
	for i, first := range values {
		for _, second := range values[i+1:] {
			if w.swap("fields", first, second) {
				break
			}
		}
	}
}

// swap exchanges two expressions, if they have one type and are not the same.
func (w *walker) swap(kind string, first, second ast.Expr) bool {
	a, b := w.pkg.info.Types[first], w.pkg.info.Types[second]
	if a.Type == nil || b.Type == nil || !types.Identical(a.Type, b.Type) || w.file.code(first) == w.file.code(second) {
		return false
	}
	between := string(w.file.text[w.file.offset(first.End()):w.file.offset(second.Pos())])
	w.add(kind, first.Pos(), second.End(), w.file.code(second)+between+w.file.code(first))
	return true
}

// statements drops the statements of a block that can be dropped.
func (w *walker) statements(list []ast.Stmt) {
	for _, statement := range list {
		if w.onlyRead(statement) {
			continue
		}
		w.path = append(w.path, statement)
		switch s := statement.(type) {
		case *ast.AssignStmt:
			if by := w.unassigned(s); s.Tok != token.DEFINE && by != w.file.code(s) {
				w.add("statement", s.Pos(), s.End(), by)
			}
		case *ast.IfStmt:
			if s.Else == nil && leaves(s.Body) {
				w.add("guard", s.Pos(), s.End(), "")
			}
		case *ast.ReturnStmt:
			if len(s.Results) == 0 {
				w.add("statement", s.Pos(), s.End(), "")
			}
		case *ast.ExprStmt, *ast.IncDecStmt, *ast.SendStmt, *ast.GoStmt, *ast.DeferStmt, *ast.BranchStmt:
			w.add("statement", s.Pos(), s.End(), "")
		}
		w.path = w.path[:len(w.path)-1]
	}
}

// unassigned is what is left of an assignment that is dropped. The values stay,
// so that no variable becomes unused, which would not compile.
func (w *walker) unassigned(n *ast.AssignStmt) string {
	used := false
	for _, value := range n.Rhs {
		if w.pkg.info.Types[value].IsNil() {
			return ""
		}
		used = used || w.pkg.info.Types[value].Value == nil
	}
	if !used {
		return ""
	}
	blanks := strings.TrimSuffix(strings.Repeat("_, ", len(n.Lhs)), ", ")
	return blanks + " = " + string(w.file.text[w.file.offset(n.Rhs[0].Pos()):w.file.offset(n.Rhs[len(n.Rhs)-1].End())])
}

// leaves reports whether a block ends by leaving the code around it.
func leaves(block *ast.BlockStmt) bool {
	if len(block.List) == 0 {
		return false
	}
	switch block.List[len(block.List)-1].(type) {
	case *ast.ReturnStmt, *ast.BranchStmt:
		return true
	}
	return false
}
