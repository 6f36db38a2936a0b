"""An answer names the plan that gives it, and the one a step below, if there is one."""

from dpverify.planning.sweeps.least import least_messages, least_users


def test_an_answer_of_one_user_has_none_below() -> None:
    (answer,) = least_users((50, "1e-6"), error=1.0, instances=1, bitsums=["central-gaussian"]).found
    assert (answer.least, answer.less, answer.below) == (1, None, None)
    assert answer.to_dict()["one_less"] is None


def test_the_best_answer_is_the_least_and_failures_are_apart() -> None:
    found = least_messages(("1", "1e-6"), error=0.02, users=1000, instances=2, bitsums=["poisson", "rr", "local-rr"])
    assert [row.bitsum for row in found.found] == ["poisson", "rr"]
    assert found.best.bitsum == "rr"
    (failed,) = found.failures
    plain = found.to_dict()
    assert (plain["asked"], plain["error"], plain["users"]) == ("messages", 0.02, 1000)
    assert plain["rows"][2] == failed.to_dict()
    assert plain["rows"][1]["least"] == 1
