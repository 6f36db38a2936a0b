"""The interactive planner: a page on this machine whose curves are the engine's."""
