import { Choices } from './choices.js';
import type { Failure, SimulationLane } from './simulation.js';

/** Maximum number of scenarios to run while shrinking. */
const maxAttempts = 400;

/** Finds the simplest scenario that still fails, by removing choices and by choosing quieter ones. */
export async function shrink(lane: SimulationLane, failure: Failure): Promise<Failure> {
  let best = failure;
  let tries = 0;
  const attempt = async (choices: number[]): Promise<boolean> => {
    if (tries >= maxAttempts) return false;
    tries += 1;
    const found = await lane.replay(Choices.recorded(choices), failure.seed);
    if (found === null || !isSimpler(found.choices, best.choices)) return false;
    best = found;
    return true;
  };
  for (let improved = true; improved && tries < maxAttempts;) {
    improved = await leaveOut(() => best.choices, attempt);
    improved = (await quieten(() => best.choices, attempt)) || improved;
  }
  return best;
}

function isSimpler(left: readonly number[], right: readonly number[]): boolean {
  const loud = (choices: readonly number[]) => choices.filter((choice) => choice !== 0).length;
  return left.length < right.length || (left.length === right.length && loud(left) < loud(right));
}

/** Tries to remove each run of choices, long ones first. */
async function leaveOut(current: () => number[], attempt: (choices: number[]) => Promise<boolean>): Promise<boolean> {
  let improved = false;
  for (let size = Math.ceil(current().length / 2); size >= 1; size = Math.floor(size / 2)) {
    for (let start = 0; start < current().length;) {
      const choices = current();
      if (await attempt([...choices.slice(0, start), ...choices.slice(start + size)])) improved = true;
      else start += size;
    }
  }
  return improved;
}

async function quieten(current: () => number[], attempt: (choices: number[]) => Promise<boolean>): Promise<boolean> {
  let improved = false;
  for (let place = 0; place < current().length; place += 1) {
    const choices = current();
    if (choices[place] === 0) continue;
    if (await attempt(choices.with(place, 0))) improved = true;
  }
  return improved;
}
