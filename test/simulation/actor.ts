import 'reflect-metadata';
import type { Assignment, Progress } from './actor-group.js';
import { type Failure, SimulationServer } from './simulation.js';

/* A process of a crew: tells the stories of its seeds, and how it gets on. */

const tellEveryMs = 2_000;

const { lastSeed, lanes: laneCount, stride, firstSeed, ...server } = JSON.parse(process.argv[2] ?? '{}') as Assignment;
const lanes = await Promise.all(Array.from({ length: laneCount }, () => SimulationServer.prepared(server).openLane()));
let nextSeed = firstSeed;
let toldSteps = 0;
const interleavings: number[] = [];
let failure: Failure | null = null;

function tell(): void {
  const steps = lanes.reduce((sum, lane) => sum + lane.steps, 0);
  const progress: Progress = { interleavings: interleavings.splice(0), steps: steps - toldSteps, failure };
  toldSteps = steps;
  process.send?.(progress);
}

// Whoever employed this process is gone.
process.once('disconnect', () => process.exit(1));
const telling = setInterval(tell, tellEveryMs);
await Promise.all(
  lanes.map(async (lane) => {
    while (failure === null && nextSeed <= lastSeed) {
      const seed = nextSeed;
      nextSeed += stride;
      failure ??= await lane.run(seed);
      interleavings.push(lane.lastInterleaving);
    }
    failure ??= await lane.prove();
  }),
);
clearInterval(telling);
tell();
await Promise.all(lanes.map((lane) => lane.close()));
process.removeAllListeners('disconnect');
process.disconnect();
