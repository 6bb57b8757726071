"""Small programs, one for each grammar. `§` marks where a body begins, `¶` where it ends."""

PROGRAMS = {
    "bash": """#!/bin/bash
greet() {
  §local name="$1"
  if [[ -z "$name" ]]; then
    echo "nobody"
    return 1
  fi
  for word in "$name" $(who); do
    case $word in
      a) echo "${word}" ;;
      *) echo other ;;
    esac
  done¶
}

greet world
""",
    "c": """#include <stdio.h>

struct point { int x, y; };

static int add(const int *values, int n) {
    §int sum = 0; /* of all { values */
    for (int i = 0; i < n; i++) {
        if (values[i] > 0)
            sum += values[i];
    }
    printf("sum } %d\\n", sum);
    return sum;¶
}

int main(void) { return add(0, 0); }
""",
    "cpp": """#include <vector>

namespace app {

class Stack {
public:
    int pop() {
        §if (items.empty()) {
            throw std::runtime_error("empty");
        } else {
            items.pop_back();
        }
        auto twice = [](int n) { return n * 2; };
        return twice(items.back());¶
    }

private:
    std::vector<int> items;
};

}  // namespace app
""",
    "css": """@import "base.css";

h1 > a:hover {
  §color: #123456;
  margin: 0 auto;
  content: "a b";¶
}

@media (max-width: 600px) {
  .menu {
    display: none;
  }
}
""",
    "go": """package main

import "fmt"

func total(values []int) (sum int) {
\t§for _, value := range values {
\t\tif value < 0 {
\t\t\tcontinue
\t\t}
\t\tsum += value
\t}
\tfmt.Println(`raw { text`, sum)
\treturn sum¶
}

type pair struct {
\tleft, right int
}
""",
    "html": """<!DOCTYPE html>
<html>
  <body>
    <ul class="menu">
      §<li><a href="/">Home</a></li>
      <li>
        <img src="a.png">
        Text<br>
      </li>¶
    </ul>
    <p>After</p>
  </body>
</html>
""",
    "java": """package app;

public class Counter {
    private int count;

    public int add(int n) {
        §if (n < 0) {
            throw new IllegalArgumentException("negative: {" + n);
        }
        try {
            count += n;
        } finally {
            log('}');
        }
        return count;¶
    }

    void reset() { count = 0; }
}
""",
    "javascript": """import { load } from "./load";

class Cart {
  total(items) {
    §const sum = items.reduce((a, b) => a + b.price, 0);
    items.forEach((item) => {
      console.log(`${item.name}: {`);
    });
    if (sum > 10) {
      return sum * 0.9;
    } else {
      return sum;
    }¶
  }

  empty() { return []; }
}

export default Cart;
""",
    "json": """{
  "name": "app",
  "scripts": {
    §"build": "make {all}",
    "test": ["a", "b"],
    "deep": {
      "er": null
    }¶
  },
  "private": true
}
""",
    "lua": """local M = {}

function M.sum(values)
  §local total = 0
  for _, value in ipairs(values) do
    if value > 0 then
      total = total + value
    else
      total = total - 1
    end
  end
  repeat total = total / 2 until total < 10
  return total¶
end

return M
""",
    "python": '''import os


def read(path, default=None):
    §"""Read it.

    Nothing is cached.
    """
    if not os.path.exists(path):
        return default
    values = [
        1,
        2,
    ]
    with open(path) as stream:
        return stream.read() + f"{values}:"¶


class Reader:
    def __init__(self):
        self.path = ""
''',
    "ruby": """class Greeter
  def greet(names)
    §return "nobody" if names.empty?
    names.each do |name|
      puts "Hello, #{name.upcase}"
    end
    while names.size > 3 do
      names.pop
    end
    total = if names.any?
      names.size
    else
      0
    end
    total¶
  end

  attr_reader :count
end
""",
    "rust": """use std::fmt;

impl Stack {
    pub fn pop<'a>(&'a mut self) -> Option<u32> {
        §let open = '{';
        match self.items.last() {
            Some(n) if *n > 3 => Some(*n),
            _ => {
                println!("empty {{}} {}", open);
                None
            }
        }¶
    }

    fn len(&self) -> usize { self.items.len() }
}
""",
    "tsx": """import React from "react";

export const List = ({ items }: { items: string[] }) => {
  §const count = items.length;
  return (
    <ul className="list">
      {items.map((item) => (
        <li key={item}>{item}</li>
      ))}
      <hr />
    </ul>
  );¶
};

export function App(): JSX.Element {
  return <List items={["don't"]} />;
}
""",
    "typescript": """interface Item { name: string; price: number }

export class Cart {
  total(items: Item[]): number {
    §let sum = 0;
    for (const item of items) {
      sum += item.price;
    }
    const label: Record<string, number> = {
      sum,
    };
    return label["sum"];¶
  }

  private readonly limit = 10;
}
""",
}


def program(grammar: str) -> tuple[str, str, str]:
    """(text before the body, the body, text after it)"""
    before, _, rest = PROGRAMS[grammar].partition("§")
    body, _, after = rest.partition("¶")
    return before, body, after
