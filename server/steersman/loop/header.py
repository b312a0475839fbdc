"""The stable part of a request as the settings are now: model, parameters, system text, tools."""

from __future__ import annotations

from steersman.context.instructions import system_text
from steersman.domain.events import RequestHeader, ToolSpec
from steersman.domain.state import SessionState
from steersman.loop.services import Services
from steersman.tools.base import AnyTool, Arguments
from steersman.tools.schema import schema


def request_header(services: Services, state: SessionState, turn: int, step: int) -> RequestHeader:
    """What `request/header` would say for this step."""
    info = services.models.info(state.model)
    folders = [folder.name for folder in services.editor.folders()]
    tools = services.toolbox(state.mode)
    return RequestHeader(
        turn=turn,
        step=step,
        model=info.name,
        params=dict(services.models.params()),
        system=system_text(folders, state.mode, trusted=services.trusted),
        tools=[_spec(tool) for tool in tools.values()],
    )


def _spec(tool: AnyTool) -> ToolSpec:
    arguments: type[Arguments] = tool.arguments
    return ToolSpec(name=tool.name, description=tool.description, parameters=schema(arguments))
