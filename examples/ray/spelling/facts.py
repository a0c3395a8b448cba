"""What a run has shown: each fact with its evidence, printed as soon as it is known."""


class Facts:
    """Facts in the order in which they are shown."""

    def __init__(self) -> None:
        self.failed: list[str] = []

    def show(self, fact: str, *evidence: tuple[bool, str]) -> None:
        """Prints the fact and what speaks for it, as (whether it does, in words); it holds if all of that does."""
        holds = bool(evidence) and all(speaks for speaks, _ in evidence)
        if not holds:
            self.failed.append(fact)
        print(f"\n{'HOLDS ' if holds else 'FAILED'}  {fact}")
        for speaks, words in evidence:
            print(f"        {'' if speaks else 'NOT SO: '}{words}")
        print(end="", flush=True)
