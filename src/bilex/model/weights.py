"""What an edge weighs in the E-step, before the prior: as the model says, or by how far it stands out.

- `likelihood`: the paper's, what the likelihood gains if the target is joined to the source (section 4.1).
- `margin`: ``2 cos - r(s) - r(t)``, with r the mean cosine of a word with its ten nearest of the other language, as
  CSLS has it (Conneau et al. 2018). A pair must stand out from its surroundings; a hub stands out from nothing.

Both are an inner product and a term of the source's own, so the searches, the solver and its certificate are the
same for both and stay exact. With margins, what the E-step maximises is a score of the matching and no likelihood.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bilex.model.theta import MappedWords
from bilex.numerics.rows import unit
from bilex.numerics.types import Floats, Indices, Vectors
from bilex.search.engine import Engine
from bilex.search.lists import NeighbourLists
from bilex.search.space import CROWDING_NEIGHBOURS

MARGIN_NEIGHBOURS = 16  # more than the crowding needs: they prove the best edges of most words


@dataclass(frozen=True, eq=False)
class Edges:
    """All edges between two vocabularies: the weight of (j, i) is ``queries[j] · targets[i] + offsets[j]``.

    With `listed`, the neighbours of all words are known, and a bound on ``queries[j] · targets[i]`` for all others.
    """

    queries: Vectors
    offsets: Floats
    targets: Vectors
    listed: tuple[NeighbourLists, Floats] | None = None

    def best_targets(self, k: int, engine: Engine) -> Indices:
        """Find the k targets of largest weight for each source."""
        if self.listed is None:
            return engine.top_k(self.queries, self.targets, k).indices
        lists, limits = self.listed
        return lists.top_k(self.queries, self.targets, k, limits, engine).indices

    def weigh(self, rows: Indices, columns: Indices) -> Floats:
        """Compute the weight of each edge in float64."""
        from bilex.search.topk_kernel import edge_scores

        return np.asarray(edge_scores(self.queries, self.targets, rows, columns) + self.offsets[rows])


Weighting = Callable[[MappedWords, Engine], Edges]


def likelihood(words: MappedWords, engine: Engine | None = None) -> Edges:
    """Weigh edges as the model does: ``t·(Ωs - μ) - ‖Ωs‖²/2 + ‖μ‖²/2``."""
    del engine
    return Edges(words.queries, words.offsets, words.targets)


def margin(words: MappedWords, engine: Engine) -> Edges:
    """Weigh edges by ``2 cos - r(s) - r(t)``; two more dimensions hold r(t), since one float32 would round it."""
    mapped, targets = unit(words.sources), unit(words.targets)
    lists = NeighbourLists.find(mapped, targets, MARGIN_NEIGHBOURS, engine)
    around_source, around_target = (
        np.ascontiguousarray(cosines[:, :CROWDING_NEIGHBOURS]).mean(axis=1)
        for cosines in (lists.source_cosines, lists.target_cosines)
    )
    coarse = around_target.astype(np.float32).astype(np.float64)
    queries = with_columns(2 * mapped, -1.0, -1.0)
    listed = lists, lists.limits(2.0, -around_target)
    return Edges(queries, -around_source, with_columns(targets, coarse, around_target - coarse), listed)


def with_columns(vectors: Vectors, first: Floats | float, second: Floats | float) -> Vectors:
    """Append two dimensions to every row."""
    wider = np.empty((len(vectors), vectors.shape[1] + 2), np.float32)
    wider[:, :-2] = vectors
    wider[:, -2] = first
    wider[:, -1] = second
    return wider


WEIGHTS: dict[str, Weighting] = {"likelihood": likelihood, "margin": margin}
