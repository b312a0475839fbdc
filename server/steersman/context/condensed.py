"""What stands for the earlier conversation after a compaction, and how a summary is asked for. Pure."""

from __future__ import annotations

from typing import Final

from steersman.context.inert import inert
from steersman.context.shortened import fitting_words
from steersman.domain.state import Compaction

ASK_SUMMARY: Final = """\
The conversation is getting too long for your context window. Sum up everything above, for yourself: you \
will go on from your summary, without the messages.

Keep, in short sentences and exact names:
- what the user asked for and what they forbade or decided; what is still open
- the files that were read or changed, and what was changed in each
- what was found out: causes, decisions with their reason, commands that work
- the errors that were met and what became of them; the state of the tests
- what was being done just now and the next step

Write only what the messages show. What the user said is kept beside it word for word, so do not repeat it. \
Answer with the summary as plain text and call no tool."""

LEFT_OUT: Final = (
    "(No summary: the messages are too long for the model even to sum them up, so they are left out. Look "
    "again at the files that matter before you go on.)"
)


def earlier_text(compaction: Compaction) -> str:
    """The message that stands in front of what stays of the conversation."""
    words, left_out = fitting_words([entry.text for entry in compaction.words], compaction.words_limit)
    lines = ["<earlier_conversation>", "The conversation up to here was made shorter."]
    if words:
        lines.append("What the user said in it, in their own words, oldest first. It holds as it did then:")
        if left_out:
            lines.append(f"[{left_out} older messages of the user are left out]")
        lines += [f"<user_said>\n{inert(text)}\n</user_said>" for text in words]
    lines += ["What was done in it, as you summed it up:", inert(compaction.summary)]
    return "\n".join((*lines, "</earlier_conversation>"))
