"""The real agent and its channel keep the contract."""

from __future__ import annotations

from openboxd.guest.connector import ChannelAgent, ChannelConnector
from openboxd.ports import Agent, AgentConnector
from tests.contracts.agent import AgentContract


class TestChannelAgent(AgentContract):
    pass


def typed(agent: ChannelAgent) -> tuple[Agent, AgentConnector]:
    """For the type checker: the drivers fit their ports."""
    return agent, ChannelConnector()
