"""Is this lexicon any good? A verdict in plain words, drawn from the run itself, without a dictionary.

The method can fail silently: it always ends with a matching that is optimal, also for a map that is worthless. Eight
signs tell, each *sound*, *doubtful* or *failed* by the limits below; then

- the run **failed** if hardly any frequent word was matched, if the words of the pairs do not agree in frequency, if
  the seed is not borne out and another sign is not sound either, or if any three signs have failed;
- it is **sound** if no sign has failed and at most one is doubtful;
- otherwise it is **doubtful**, and so it is if there are too few words to judge by, or if the vectors are not in order
  of frequency, so that the surest sign is missing.

How the limits were chosen
--------------------------
On runs whose precision is known: English-French, English-Finnish and two small unrelated corpora ("books", English-
German, hard for any method), 6,000 words a side with ``--max-rank 3000`` (*all words*: up to 20,000 and without it),
P@1 by CSLS on MUSE's test words:

===========================  ========  ====  =======  ======  ======  =====  =====  ====  ====
run                          verdict    P@1  matched  mutual  cosine  round  freq.  hubs  seed
===========================  ========  ====  =======  ======  ======  =====  =====  ====  ====
en-fr, identical             sound     .765      .69     .72     .75    .66    .66   3.2   .79
en-fr, 25 pairs              sound     .753      .68     .73     .75    .65    .65   3.2   .79
en-fr, 25, artetxe2017       sound     .743      .58     .48     .69    .60    .57   5.3   .88
en-fr, 25, --log-odds 0.5    sound     .738      .88     .50     .66    .66    .57   2.5   .96
en-fr, 5,000, ibm1-em        sound     .692      .51     .49     .63    .53    .54   4.7   .90
en-fi, identical, all words  sound     .481      .44     .44     .65    .47    .41   4.6   .38
en-fi, identical             sound     .462      .44     .64     .72    .43    .49   4.1   .70
en-fi, identical, log-odds   doubtful  .355      .79     .37     .55    .43    .27   3.6   .81
en-fr, 25, ibm1-em           doubtful  .222      .18     .23     .57    .19    .30   4.7   .38
books, 5,000 pairs           doubtful  .145      .67     .16     .65    .16    .31  13.7   .42
books, identical             doubtful  .123      .54     .13     .63    .11    .32   9.4   .29
en-fi, 25, --log-odds 0.5    failed    .059      .78     .43     .46    .39    .22  11.4  1.00
en-fr, 25, haghighi2008      failed    .059      .45     .94     .62    .44    .18   2.7  1.00
en-fi, 25 pairs              failed    .022      .05     .96     .86    .07    .36  14.1  1.00
en-fr, 25, xing2015          failed    .010      .18     .01     .40    .01    .09  52.9  1.00
books, numerals, all words   failed    .007      .49     .07     .73    .03    .22  23.1   .22
en-fi, 25, ibm1              failed    .005      .01     .04     .65    .05    .18  17.1   .44
en-fi, 25, artetxe2017       failed    .005      .23     .16     .53    .17    .11  20.5   .80
en-fi, shuffled, log-odds    failed    .005      .80     .47     .43    .43    .04   3.9   .59
en-fr, 10, --log-odds 0.5    failed    .005      .81     .41     .44    .37    .13   4.9  1.00
en-fr, 5 pairs               failed    .002      .00    1.00     .99    .14      -  30.4  1.00
en-fi, random vectors        failed    .000      .03    1.00     .83    .18    .27  14.4   .91
books, numerals              failed    .000      .42     .13     .63    .08    .19   9.1   .43
===========================  ========  ====  =======  ======  ======  =====  =====  ====  ====

The limits were set on 70 such runs: the 22 called sound have a P@1 of .45 or more, the 5 doubtful ones .10 to .36, and
the 43 failed ones less than .06. ``python -m tools.verdicts DATA`` measures most of these again; ``fresh`` at its end
measures runs that the limits were not set on, which ``docs/reading-the-report.md`` counts. Two of those, with a P@1 of
.019 and .004, were called doubtful with 9% and 12% of the frequent words matched, so this limit went up from 8% to 15%.

Three things are worth knowing. *Mutual neighbours and cosine mislead alone*: from 5 pairs, the 5 pairs fit perfectly
and nothing else does. *A map can fit noise*: with ``--log-odds 0.5`` four words in five are matched, two pairs in five
are mutual and the log-likelihood rises, from any seed at all. *Frequency gives it away*: the model knows nothing of it,
and the ranks of true translations are correlated, those of noise are not. In the run of haghighi2008 it is the only
sign that tells. So it condemns a run alone, where the vectors are in order of frequency (`evidence.by_frequency`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bilex.confidence.signs import SMALL, Evidence, gather, induced_pairs
from bilex.confidence.wording import number, percent
from bilex.em.em import CONVERGED, SEED_ONLY
from bilex.runs.run import Run

__all__ = ["DOUBTFUL", "FAILED", "SOUND", "Sign", "Verdict", "decide", "judge"]

SOUND, DOUBTFUL, FAILED = "sound", "doubtful", "failed"
FEW_SEEDS = 100
ENOUGH = 10_000  # words for a first attempt
LIMITS = {  # sign: sound from here on, failed before there
    "matched": (0.25, 0.15),
    "mutual": (0.40, 0.10),
    "cosine": (0.60, 0.45),
    "frequency": (0.35, 0.24),
    "returning": (0.30, 0.08),
    "hubness": (8.0, 18.0),  # here less is better
    "seed": (0.50, 0.15),
}
HEADLINES = {
    SOUND: "This lexicon looks sound",
    DOUBTFUL: "This lexicon looks doubtful",
    FAILED: "This run failed: do not use its lexicon",
}


@dataclass(frozen=True)
class Sign:
    """One sign: its name, its value and limit as text, how it reads, what it is, and a sentence about it."""

    key: str
    name: str
    value: str
    limit: str
    level: str
    meaning: str
    sentence: str


@dataclass(frozen=True)
class Verdict:
    """What to think of a run, why, and what to do next; `reasons` and `advice` are plain sentences."""

    level: str
    reasons: tuple[str, ...]
    advice: tuple[str, ...]
    signs: tuple[Sign, ...]
    figures: Evidence

    @property
    def headline(self) -> str:
        """The verdict in a few words."""
        return HEADLINES[self.level]

    def summary(self) -> dict[str, Any]:
        """Give what ``run.json`` holds of it."""
        return {"level": self.level, "reasons": list(self.reasons), "advice": list(self.advice)}


def judge(run: Run) -> Verdict:
    """Judge a run."""
    return decide(gather(run, induced_pairs(run)), run.info["configuration"])


def decide(evidence: Evidence, configuration: dict[str, Any]) -> Verdict:
    """Draw the verdict from the figures."""
    signs = read_signs(evidence)
    levels = {sign.key: sign.level for sign in signs}
    level = weigh(evidence, levels)
    reasons = [sign.sentence for sign in signs if sign.level == FAILED]
    reasons += [sign.sentence for sign in signs if sign.level == DOUBTFUL]
    if level == SOUND:
        reasons = [sign.sentence for sign in signs if sign.level == SOUND] + reasons
    if not evidence.pairs:
        reasons = ["No pair of words was matched."]
    elif not evidence.ordered:
        missing = "The words do not seem to be in order of frequency, so the surest sign is missing."
        reasons = [missing, *(reasons if level != SOUND else [])]
    elif too_small(evidence):
        reasons.insert(0, f"There are only {min(evidence.seen):,} words on a side, too few to judge by.")
    return Verdict(level, tuple(reasons), tuple(advise(level, levels, evidence, configuration)), signs, evidence)


def weigh(evidence: Evidence, levels: dict[str, str]) -> str:
    """Put the signs together."""
    if not evidence.pairs:
        return FAILED
    if too_small(evidence):
        return DOUBTFUL
    failed = [key for key, level in levels.items() if level == FAILED]
    weak = [key for key, level in levels.items() if level != SOUND]
    if "matched" in failed or "frequency" in failed or len(failed) >= 3:
        return FAILED
    if "seed" in failed and len(weak) > 1:
        return FAILED
    return SOUND if evidence.ordered and not failed and len(weak) <= 1 else DOUBTFUL


def too_small(evidence: Evidence) -> bool:
    """Say whether there are too few words to judge by."""
    return min(evidence.seen) < SMALL


def read_signs(evidence: Evidence) -> tuple[Sign, ...]:
    """Read every sign that the run gives."""
    matched, mutual, returning = evidence.matched, evidence.mutual, evidence.returning
    signs = [
        share_sign(
            "matched",
            "words matched",
            matched,
            "share of the frequent words that have a partner",
            f"{percent(matched)} of the frequent words were matched.",
        ),
        share_sign(
            "mutual",
            "mutual neighbours",
            mutual,
            "share of the pairs whose words are each other's nearest neighbours",
            f"The words of {percent(mutual)} of the pairs are each other's nearest neighbours.",
        ),
        higher_sign(
            "cosine",
            "mean cosine",
            evidence.cosine,
            "how alike the words of a pair are in the shared space, on average",
            f"The mean cosine of the pairs is {evidence.cosine:.2f}.",
        ),
        share_sign(
            "returning",
            "round trip",
            returning,
            "share of the frequent words that are the nearest neighbour of their nearest neighbour",
            f"Going to the nearest neighbour and back returns to the same word for {percent(returning)} of the "
            "frequent words.",
        ),
    ]
    if evidence.frequency is not None:
        agree = {SOUND: "agree", DOUBTFUL: "agree only weakly", FAILED: "hardly agree"}
        level = higher("frequency", evidence.frequency)
        signs.append(
            higher_sign(
                "frequency",
                "frequency agreement",
                evidence.frequency,
                "correlation of the two words' frequency ranks, which the model does not see, in the better half",
                f"The words of a pair {agree[level]} in how frequent they are "
                f"(correlation {number(evidence.frequency, 2)}).",
            )
        )
    signs.append(hub_sign(evidence))
    if evidence.seed_near is not None:
        near = evidence.seed_near
        signs.append(
            share_sign(
                "seed",
                "agreement with the seed",
                near,
                "share of the seed's words with a seed translation among their five best by CSLS",
                f"{percent(near)} of the seed's words have their translation among the five best.",
            )
        )
    if evidence.rise is not None or evidence.stopped not in (CONVERGED, SEED_ONLY):
        signs.append(learning_sign(evidence))
    return tuple(signs)


def higher(key: str, value: float) -> str:
    """Read a sign of which more is better."""
    sound, failed = LIMITS[key]
    return SOUND if value >= sound else FAILED if value < failed else DOUBTFUL


def share_sign(key: str, name: str, value: float, meaning: str, sentence: str) -> Sign:
    """Make a sign of a share."""
    return Sign(
        key, name, percent(value), f"from {LIMITS[key][0]:.0%}", higher(key, value), meaning, only(key, value, sentence)
    )


def higher_sign(key: str, name: str, value: float, meaning: str, sentence: str) -> Sign:
    """Make a sign of a number."""
    return Sign(key, name, number(value, 2), f"from {LIMITS[key][0]:.2f}", higher(key, value), meaning, sentence)


def only(key: str, value: float, sentence: str) -> str:
    """Say "only" where a share is small."""
    if higher(key, value) == SOUND or value == 0:
        return sentence
    text = percent(value)
    return sentence.replace(text, f"only {text}", 1) if not sentence.startswith(text) else f"Only {sentence}"


def hub_sign(evidence: Evidence) -> Sign:
    """Read the hubness, of which less is better."""
    sound, failed = LIMITS["hubness"]
    level = SOUND if evidence.hubness <= sound else FAILED if evidence.hubness > failed else DOUBTFUL
    share = percent(evidence.largest_hub)
    sentences = {
        SOUND: "No hub draws many words to itself.",
        DOUBTFUL: f"There are hubs: the largest is the nearest neighbour of {share} of the frequent words.",
        FAILED: f"Hubs have taken over: the largest is the nearest neighbour of {share} of the frequent words.",
    }
    meaning = "skewness of how often a word is a nearest neighbour: high if a few words are everybody's"
    return Sign(
        "hubness", "hubness", number(evidence.hubness, 1), f"up to {sound:.0f}", level, meaning, sentences[level]
    )


def learning_sign(evidence: Evidence) -> Sign:
    """Read how EM went."""
    rise, steps = evidence.rise or 0.0, f"{evidence.iterations} iteration{'s' * (evidence.iterations != 1)}"
    meaning = "how far the log-likelihood rose while learning; EM should end by converging"
    if evidence.stopped not in (CONVERGED, SEED_ONLY):
        level, sentence = DOUBTFUL, f"Learning did not converge in {steps}."
    elif rise < -1e-9 * max(1.0, abs(rise)):
        level, sentence = DOUBTFUL, f"The log-likelihood fell by {number(-rise, 1)} while learning."
    else:
        change = f"rose by {number(rise, 1)}" if rise >= 0.05 else "stayed the same"
        level, sentence = SOUND, f"Learning converged in {steps}, and the log-likelihood {change}."
    return Sign(
        "learning", "log-likelihood", f"{'+' * (rise >= 0)}{number(rise, 1)}", "not falling", level, meaning, sentence
    )


def advise(level: str, levels: dict[str, str], evidence: Evidence, configuration: dict[str, Any]) -> list[str]:
    """Say what to do next."""
    if level == SOUND:
        return [
            "Check the entries of low confidence first: they are shown in the report.",
            "To measure it, compare it with any dictionary you have: `bilex evaluate RUN GOLD --retrieval csls`.",
        ]
    advice = ["Read every entry, or give vectors of more words."] if too_small(evidence) and evidence.pairs else []
    advice += [*seed_advice(configuration["seed"]), *method_advice(configuration["method"], levels, evidence)]
    if level == DOUBTFUL:
        advice.append("Until then, trust only entries that are mutual and have rank 1, and check a sample of them.")
        if not evidence.ordered:
            advice.append("Put the most frequent words first, if you can: more can be said of the result then.")
    return advice


def seed_advice(seed: dict[str, Any]) -> list[str]:
    """Say what to try with the seed."""
    advice = []
    if seed["name"] == "numerals":
        advice.append("Try another seed: words spelt the same (`--seed identical`), or a dictionary (`--seed FILE`).")
    elif seed["name"] in ("identical", "unsupervised"):
        advice.append("Try another seed: a dictionary, even one of 25 to 100 frequent words (`--seed FILE`).")
    elif seed["used"] >= FEW_SEEDS:
        advice.append("Check the seed: is the source word first, are the translations right and the words frequent?")
    if seed["used"] < FEW_SEEDS:
        advice.append(
            f"Give more pairs than {seed['used']:,}: a few hundred frequent words with their translations "
            "(`--seed FILE`)."
        )
    return advice


def method_advice(method: dict[str, Any], levels: dict[str, str], evidence: Evidence) -> list[str]:
    """Say what to try with the method."""
    advice, most = [], method["max_rank"]
    if max(evidence.seen) > ENOUGH:
        advice.append(f"Match only frequent words, which are easier (a frequency constraint): `--max-rank {ENOUGH}`.")
    elif most is not None and most < ENOUGH // 2:
        advice.append(f"Let the matching see more words than {most:,}: `--max-rank {ENOUGH}`.")
    if not method["self_learning"] or method["prior"] not in ("1:1", "1:2", "2:1", "2:2"):
        advice.append("Leave out `--method`: the default method makes more of a weak seed.")
    if method["log_odds"] > 0 and levels.get("frequency") != SOUND:
        advice.append("Leave out `--log-odds`: it accepts pairs that are hardly alike.")
    if levels["hubness"] != SOUND:
        advice.append("Use CSLS when you look words up: it corrects for hubs.")
    return advice
