package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// pkg is the package under test, parsed and type-checked.
type pkg struct {
	path   string // as it is imported
	folder string // from the root of the module, as in "internal/engine"
	set    *token.FileSet
	files  []*source
	info   *types.Info

	imports types.Importer
}

// source is one file of the package.
type source struct {
	name   string // absolute
	text   []byte
	syntax *ast.File
	set    *token.FileSet
}

func (s *source) offset(position token.Pos) int { return s.set.Position(position).Offset }

// code is the text of a node.
func (s *source) code(node ast.Node) string {
	return string(s.text[s.offset(node.Pos()):s.offset(node.End())])
}

// listed is what the go command tells of a package.
type listed struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
	Standard, DepOnly       bool
}

// load asks the go command for the package's files and for the compiled form of
// all that it imports, and type-checks it.
func load(ctx context.Context, root, name string) (*pkg, error) {
	all, err := list(ctx, root, name)
	if err != nil {
		return nil, err
	}
	exports := map[string]string{}
	var own *listed
	for _, l := range all {
		exports[l.ImportPath] = l.Export
		if !l.DepOnly {
			own = l
		}
	}
	if own == nil {
		return nil, errors.New("there is no such package")
	}
	folder, err := filepath.Rel(root, own.Dir)
	if err != nil {
		return nil, err
	}
	p := &pkg{path: own.ImportPath, folder: filepath.ToSlash(folder), set: token.NewFileSet()}
	p.imports = importer.ForCompiler(p.set, "gc", func(path string) (io.ReadCloser, error) {
		if exports[path] == "" {
			return nil, fmt.Errorf("%s was not compiled", path)
		}
		return os.Open(exports[path])
	})
	for _, file := range own.GoFiles {
		if err := p.parse(filepath.Join(own.Dir, file)); err != nil {
			return nil, err
		}
	}
	p.info = &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}}
	return p, p.check(nil, nil, p.info)
}

func list(ctx context.Context, root, name string) ([]*listed, error) {
	command := exec.CommandContext(ctx, "go", "list", "-export", "-deps",
		"-json=ImportPath,Dir,Export,GoFiles,Standard,DepOnly", name)
	command.Dir = root
	var problems strings.Builder
	command.Stderr = &problems
	output, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w\n%s", err, problems.String())
	}
	var all []*listed
	for decoder := json.NewDecoder(bytes.NewReader(output)); decoder.More(); {
		l := &listed{}
		if err := decoder.Decode(l); err != nil {
			return nil, err
		}
		all = append(all, l)
	}
	return all, nil
}

func (p *pkg) parse(name string) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	syntax, err := parser.ParseFile(p.set, name, text, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	p.files = append(p.files, &source{name: name, text: text, syntax: syntax, set: p.set})
	return nil
}

// check type-checks the package, with one file replaced if one is given.
func (p *pkg) check(replaced *source, by *ast.File, info *types.Info) error {
	var files []*ast.File
	for _, f := range p.files {
		if f == replaced {
			files = append(files, by)
		} else {
			files = append(files, f.syntax)
		}
	}
	settings := types.Config{Importer: p.imports}
	_, err := settings.Check(p.path, p.set, files, info)
	return err
}

// compiles reports whether the package still compiles with a change. It only asks
// the type checker, which is a hundred times faster than the compiler.
func (p *pkg) compiles(c *change) bool {
	syntax, err := parser.ParseFile(p.set, c.file.name, c.mutated(), parser.SkipObjectResolution)
	return err == nil && p.check(c.file, syntax, nil) == nil
}
