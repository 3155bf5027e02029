"""Which modules a loss is made of, surely and perhaps, by the text of the function that it goes backward in."""

from __future__ import annotations

import textwrap

import libcst as cst
import pytest

from amplint.flow.lowering import lower
from amplint.flow.reach import Made, Reach, find_reach
from amplint.syntax.names import Names
from amplint.syntax.tree import SyntaxTree

HEAD = """
import argparse
import torch
from models import Discriminator, Generator
gen, disc = Generator(), Discriminator()
opt_g = torch.optim.Adam(gen.parameters())
opt_d = torch.optim.Adam(disc.parameters())
real = torch.rand(2, 3)
"""


def reach_of(text: str) -> tuple[Reach, dict[str, int]]:
    """What is reached in a text, and the last site of each name that is called."""
    tree = SyntaxTree(text)
    program = lower(tree, Names(tree))
    names = [
        (node.func.attr if isinstance(node.func, cst.Attribute) else node.func).value
        if isinstance(node, cst.Call) and isinstance(node.func, (cst.Name, cst.Attribute))
        else ""
        for node in program.sites
    ]
    return find_reach(program), {name: site for site, name in enumerate(names)}


def lost(body: str, head: str = HEAD) -> Made:
    """What the loss that goes backward in ``body`` is made of."""
    reach, sites = reach_of(head + textwrap.dedent(body))
    return reach.made[sites["backward"]]


def surely(made: Made) -> set[str]:
    return {".".join(text) for text in made.must} & {"gen", "disc"}


def perhaps(made: Made) -> set[str]:
    return {".".join(text) for text in made.may} & {"gen", "disc"}


@pytest.mark.parametrize(
    "body, must, may",
    [
        ("loss = disc(real)", "disc", "disc"),
        ("loss = disc(gen(real))", "disc gen", "disc gen"),
        ("loss = disc(gen(real).detach())", "disc", "disc"),
        ("loss = disc(real).loss", "disc", "disc"),
        ("loss = disc(real).sample.mean()", "disc", "disc"),
        ("loss = disc(real).extra", "", "disc"),
        ("loss = disc.module.forward(real)", "disc", "disc"),
        ("loss = torch.zeros(1)\nloss += disc(real)", "disc", "disc"),
        ("loss = disc(real)\ndel real", "disc", "disc"),
        ("loss = disc(real)\nloss.detach_()", "", "disc"),
        ("loss = disc(real) if flag else gen(real)", "", "disc gen"),
        ("if flag:\n    loss = disc(real)\nelse:\n    loss = gen(real)", "", "disc gen"),
        ("if flag:\n    loss = disc(real)\nelse:\n    loss = disc(gen(real))", "disc", "disc gen"),
        ("losses = {}\nlosses['d'] = disc(real)\nloss = losses['d']", "", "disc"),
        ("losses = {'d': torch.zeros(1)}\nlosses['d'] += disc(real)\nloss = sum(losses.values())", "", ""),
        ("loss = sum([disc(real), gen(real)])", "disc gen", "disc gen"),
        ("losses = []\nlosses.append(disc(real))\nloss = sum(losses)", "disc", "disc"),
        ("state.loss = disc(real)\nstate.show()\nloss = state.loss", "", ""),
        ("state.loss = disc(real)\nother.show()\nloss = state.loss", "disc", "disc"),
        ("print(torch)\nloss = disc(real) * torch", "disc", "disc"),
        ("loss = disc(real)\nfor p in disc.parameters():\n    p.grad.mul_(2)", "disc", "disc"),
        ("if flag:\n    break\nloss = disc(real)", "disc", "disc"),
        ("try:\n    loss = disc(real)\nfinally:\n    print(1)", "disc", "disc"),
        ("try:\n    loss = disc(real)\nexcept OSError:\n    raise\nfinally:\n    print(1)", "disc", "disc"),
        ("loss = gen(real)\nfor x in range(3):\n    loss = disc(x)\n    if flag:\n        break", "", "disc gen"),
        ("loss = gen(real)\nwhile flag():\n    loss = disc(real)\nelse:\n    loss = disc(real)", "disc", "disc"),
        ("args = argparse.ArgumentParser().parse_args()\nloss = disc(real) * args.weight", "disc", "disc"),
        ("with torch.no_grad():\n    fake = gen(real)\nloss = disc(fake)", "disc", "disc"),
    ],
)
def test_what_a_loss_is_made_of(body: str, must: str, may: str) -> None:
    made = lost(f"{body}\nloss.backward()")
    assert (surely(made), perhaps(made)) == (set(must.split()), set(may.split()))


@pytest.mark.parametrize(
    "call, must, may",
    [
        ("torch.autograd.backward(disc(real))", "disc", "disc"),
        ("torch.autograd.backward([disc(real), gen(real)], [one, two])", "", ""),
        ("disc(real).backward(inputs=weights)", "", "disc"),
        ("scaler.scale(disc(real)).backward()", "disc", "disc"),
    ],
)
def test_what_goes_backward(call: str, must: str, may: str) -> None:
    made = lost(call)
    assert (surely(made), perhaps(made)) == (set(must.split()), set(may.split()))


def test_what_comes_from_anywhere_is_open() -> None:
    assert lost("find_loss(real).value.backward()").open
    assert lost("torch.autograd.backward([disc(real)], weights)").open
    assert not lost("disc(real).backward()").open


def test_what_is_frozen_is_not_surely_reached() -> None:
    assert surely(lost("disc.requires_grad_(False)\ndisc(real).backward()")) == set()
    assert surely(lost("disc.requires_grad_(True)\ndisc(real).backward()")) == {"disc"}
    assert surely(lost("for p in disc.parameters():\n    p.requires_grad = flag\ndisc(real).backward()")) == set()


@pytest.mark.parametrize("condition", ["if p.requires_grad", ""])
def test_whose_parameters_an_optimizer_has(condition: str) -> None:
    reach, sites = reach_of(f"{HEAD}third = torch.optim.SGD([p for p in gen.parameters() {condition}], 0.1)")
    assert perhaps(reach.made[sites["SGD"]]) == surely(reach.made[sites["SGD"]]) == {"gen"}


def test_parameters_that_are_chosen_are_some_of_a_module() -> None:
    reach, sites = reach_of(f"{HEAD}third = torch.optim.SGD([p for p in gen.parameters() if p.ndim > 1], 0.1)")
    assert perhaps(reach.made[sites["SGD"]]) == {"gen"} and not surely(reach.made[sites["SGD"]])


def test_an_optimizer_that_is_given_more_later_may_have_anything() -> None:
    reach, sites = reach_of(HEAD)
    assert not reach.made[sites["Adam"]].open
    reach, sites = reach_of(f"{HEAD}opt_d.add_param_group({{'params': gen.parameters()}})")
    assert reach.made[sites["Adam"]].open


def test_no_function_has_to_come_to_an_end() -> None:
    made = lost(
        """
        def train(x):
            loss = disc(x)
            if x is None:
                return None
            elif x > 0:
                return loss.backward()
            else:
                raise ValueError
            gen(loss)
        """
    )
    assert surely(made) == {"disc"}


def test_a_loop_that_does_not_settle_is_left() -> None:
    chain = "".join(f"    a{n} = a{n + 1}\n" for n in range(9))
    reach, sites = reach_of(f"{HEAD}for x in real:\n{chain}    a9 = disc(x)\n    a0.backward()\n")
    assert sites["backward"] not in reach.made or reach.made[sites["backward"]].open
    reach, sites = reach_of(f"{HEAD}for x in real:\n    a0 = a1\n    a1 = disc(x)\n    a0.backward()\n")
    assert sites["backward"] in reach.made


def test_what_init_makes_of_other_parts() -> None:
    text = """
        class Trainer:
            def __init__(self):
                self.gen = Generator()
                self.disc = Discriminator()
                self.both = torch.nn.ModuleList([self.gen, self.disc])
                self.optimizer = torch.optim.Adam(self.both.parameters())

            def step(self, x):
                self.both(x).backward()
        """
    both = lost(text)
    assert {("self", "gen"), ("self", "disc")} <= both.may
    assert (
        not {("self", "gen"), ("self", "disc")}
        & lost(text.replace("self):\n", "*me):\n                self = me[0]\n", 1)).may
    )


def test_an_init_of_no_class() -> None:
    made = lost("def __init__(self, size):\n    self.gen = gen\nGenerator.__init__ = __init__\ndisc(real).backward()")
    assert surely(made) == {"disc"}
