import 'reflect-metadata';
import type { Assignment, Progress } from './actor-group.js';
import { type Failure, SimulationServer } from './simulation.js';

/* A process of an actor group: runs the scenarios of its seeds and reports progress. */

const reportIntervalMs = 2_000;

const { lastSeed, lanes: laneCount, stride, firstSeed, ...server } = JSON.parse(process.argv[2] ?? '{}') as Assignment;
const lanes = await Promise.all(Array.from({ length: laneCount }, () => SimulationServer.prepared(server).openLane()));
let nextSeed = firstSeed;
let reportedSteps = 0;
const interleavings: number[] = [];
let failure: Failure | null = null;

function tell(): void {
  const steps = lanes.reduce((sum, lane) => sum + lane.steps, 0);
  const progress: Progress = { interleavings: interleavings.splice(0), steps: steps - reportedSteps, failure };
  reportedSteps = steps;
  process.send?.(progress);
}

// The parent process has gone.
process.once('disconnect', () => process.exit(1));
const reporting = setInterval(tell, reportIntervalMs);
await Promise.all(
  lanes.map(async (lane) => {
    while (failure === null && nextSeed <= lastSeed) {
      const seed = nextSeed;
      nextSeed += stride;
      failure ??= await lane.run(seed);
      interleavings.push(lane.lastInterleaving);
    }
    failure ??= await lane.verifyPending();
  }),
);
clearInterval(reporting);
tell();
await Promise.all(lanes.map((lane) => lane.close()));
process.removeAllListeners('disconnect');
process.disconnect();
