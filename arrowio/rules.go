package arrowio

import (
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
)

// DomainKey is the key of a list field's metadata that declares its domain.
const DomainKey = "outrider.domain"

// Domain says what the values of a list column count. Lists of one domain have equal lengths row by row.
type Domain string

// The domains.
const (
	DomainToken    Domain = "token"    // prompt and response tokens
	DomainResponse Domain = "response" // response tokens
	DomainFree     Domain = "free"     // anything; compared with nothing
)

// Values of the status column.
const (
	StatusCompleted uint8 = iota
	StatusTruncated
	StatusAborted
	StatusFailed
)

// ColumnRule says what a column of a name must be.
type ColumnRule struct {
	Name     string
	Type     arrow.DataType // compared without names and nullability of nested fields
	Domain   Domain         // of a list column that declares none itself
	Required bool
}

// SchemaRules says which columns a segment of rollouts must have, of which types, and which of its lists share a
// length. The zero value is DefaultRules. Columns without a rule are free to be anything that keeps the general
// rules: no nulls, list offsets of 32 bits, masks of uint8.
type SchemaRules struct {
	Columns []ColumnRule
	Masked  bool // loss_mask is known to be of 0 and 1, so that no value of it is looked at
}

// versionsType is a list of runs: so many response tokens in a row were sampled under one weight version.
var versionsType = arrow.ListOf(arrow.StructOf(
	arrow.Field{Name: "version", Type: arrow.PrimitiveTypes.Int64},
	arrow.Field{Name: "length", Type: arrow.PrimitiveTypes.Int32},
))

// DefaultRules returns the rules of the default columns. Those that identify a row are required.
func DefaultRules() SchemaRules {
	p := arrow.PrimitiveTypes
	return SchemaRules{Columns: []ColumnRule{
		{Name: "group", Type: p.Int64, Required: true},
		{Name: "slot", Type: p.Int32, Required: true},
		{Name: "trajectory", Type: p.Int64, Required: true},
		{Name: "part", Type: p.Int32, Required: true},
		{Name: "tokens", Type: arrow.ListOf(p.Int32), Domain: DomainToken},
		{Name: "response_length", Type: p.Int32},
		{Name: "logprobs", Type: arrow.ListOf(p.Float32), Domain: DomainResponse},
		{Name: "loss_mask", Type: arrow.ListOf(p.Uint8), Domain: DomainResponse},
		{Name: "versions", Type: versionsType, Domain: DomainFree},
		{Name: "reward", Type: p.Float64},
		{Name: "status", Type: p.Uint8},
		{Name: "text", Type: arrow.BinaryTypes.String},
		{Name: "label", Type: arrow.BinaryTypes.String},
		{Name: "metadata", Type: arrow.BinaryTypes.String},
	}}
}

// Others are the columns of a schema that have no rule, with their types, compared as in a rule.
func (r SchemaRules) Others(s *arrow.Schema) (names, types []string) {
	for _, f := range s.Fields() {
		if !slices.ContainsFunc(r.Columns, func(c ColumnRule) bool { return c.Name == f.Name }) {
			names, types = append(names, f.Name), append(types, TypeText(f.Type))
		}
	}
	return names, types
}

// lists maps each list column that has a length to share to its domain.
type lists map[int]Domain

// check holds a schema against the rules and returns the domains of its list columns. Error: *DataError.
func (r SchemaRules) check(s *arrow.Schema) (lists, error) {
	if r.Columns == nil {
		r.Columns = DefaultRules().Columns
	}
	rules, domains, seen := map[string]ColumnRule{}, lists{}, map[string]bool{}
	for _, c := range r.Columns {
		rules[c.Name] = c
	}
	for i, f := range s.Fields() {
		if seen[f.Name] {
			return nil, &DataError{Row: -1, Column: f.Name, Expected: "one column of that name", Found: "two"}
		}
		seen[f.Name] = true
		domain, err := rules[f.Name].column(f)
		if err != nil {
			return nil, err
		}
		if domain != DomainFree {
			domains[i] = domain
		}
	}
	for _, c := range r.Columns {
		if c.Required && !seen[c.Name] {
			return nil, &DataError{Row: -1, Column: c.Name, Expected: "a column of type " + TypeText(c.Type), Found: "no such column"}
		}
	}
	return domains, nil
}

// column checks one field and returns its domain. The zero rule is that of a column without one.
func (c ColumnRule) column(f arrow.Field) (Domain, error) {
	refuse := func(expected string) (Domain, error) {
		return "", &DataError{Row: -1, Column: f.Name, Expected: expected, Found: "type " + TypeText(f.Type)}
	}
	if c.Type != nil && TypeText(c.Type) != TypeText(f.Type) {
		return refuse("type " + TypeText(c.Type))
	}
	declared, ok := f.Metadata.GetValue(DomainKey)
	list, isList := storage(f.Type).(*arrow.ListType)
	switch {
	case storage(f.Type).ID() == arrow.LARGE_LIST:
		return refuse("a list with offsets of 32 bits (list, not large_list)")
	case ok && !isList:
		return refuse("a list, because its field declares domain " + declared)
	case !isList:
		return DomainFree, nil
	case list.Elem().ID() == arrow.BOOL:
		return refuse("a mask of uint8, not bool")
	}
	domain := c.Domain
	if ok {
		domain = Domain(declared)
	}
	switch domain {
	case DomainToken, DomainResponse, DomainFree:
		return domain, nil
	case "":
		return DomainFree, nil
	}
	return "", &DataError{Row: -1, Column: f.Name, Expected: "domain token, response or free", Found: "domain " + declared}
}
