package simulate

// failSource lets the framework's own data source answer late, with fewer groups than it was asked for, or with an error.
func (w *world) failSource() {
	if w.source == "pulled" {
		w.do("source %s", choose(w.random, "holds", "short=1", "fails=1", "refuses=1"))
	}
}

// sourceAnswers lets it say all that it has not.
func (w *world) sourceAnswers() {
	if w.source == "pulled" {
		w.do("source answers fails=0 refuses=0")
	}
}
