package arrowio

import (
	"sort"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
)

// nullRow returns the first row of an array that is null or holds a null at any depth, -1 when there is none.
// O(1) for an array without nulls, for each of its levels.
func nullRow(a arrow.Array) int {
	first := -1
	note := func(row int) {
		if row >= 0 && (first < 0 || row < first) {
			first = row
		}
	}
	if a.NullN() > 0 {
		for i := 0; i < a.Len() && first < 0; i++ {
			if a.DataType().ID() == arrow.NULL || a.IsNull(i) {
				note(i)
			}
		}
	}
	switch a := a.(type) {
	case *array.Struct:
		for i := range a.NumField() {
			note(nullRow(a.Field(i)))
		}
	case *array.Dictionary:
		if a.Len() > 0 && a.Dictionary().NullN() > 0 {
			note(nullLookup(a))
		}
	case array.ListLike:
		if a.Len() > 0 {
			note(nullList(a))
		}
	}
	return first
}

// nullLookup returns the first row whose value in the dictionary is null.
func nullLookup(a *array.Dictionary) int {
	for i := range a.Len() {
		if a.IsValid(i) && a.Dictionary().IsNull(a.GetValueIndex(i)) {
			return i
		}
	}
	return -1
}

// nullList returns the first row whose list holds a null; values that no list has do not count.
func nullList(a array.ListLike) int {
	if nullRow(a.ListValues()) < 0 {
		return -1
	}
	from, _ := a.ValueOffsets(0)
	_, to := a.ValueOffsets(a.Len() - 1)
	if from == to {
		return -1
	}
	used := array.NewSlice(a.ListValues(), from, to)
	defer used.Release()
	at := nullRow(used)
	if at < 0 {
		return -1
	}
	return sort.Search(a.Len(), func(i int) bool {
		_, end := a.ValueOffsets(i)
		return end > from+int64(at)
	})
}
