import type { Weighted } from './choices.js';
import type { Scenario } from './scenario.js';
import type { SimProcess, StepFault } from './world.js';

interface ScenarioEvent extends Weighted {
  run(): Promise<void> | void;
}

/**
 * Maximum delay of running processes, in ms: ready steps run, and waiting jobs are taken, before more time passes. The
 * platform guarantees times.
 */
const slowestMs = 2_000;

const faults: (Weighted & { fault: StepFault })[] = [
  { weight: 960, fault: 'none' },
  { weight: 20, fault: 'lost-before' },
  { weight: 20, fault: 'lost-after' },
];

/** Possible next events; the first is the quietest: the oldest step of a process completes. */
export function chaosOptions(scenario: Scenario): ScenarioEvent[] {
  const { world } = scenario;
  if (scenario.isQuiet) return [];
  const steps = world.ready.map(({ id }): ScenarioEvent => ({
    weight: 12,
    run: () => world.perform(id, scenario.choices.pick(faults).fault),
  }));
  return [
    ...steps,
    ...requestEvents(scenario),
    ...queueEvents(scenario),
    ...opsEvents(scenario),
    ...timeEvents(scenario),
    ...breakEvents(scenario),
  ];
}

function requestEvents(scenario: Scenario): ScenarioEvent[] {
  const { platform, choices } = scenario;
  const events: ScenarioEvent[] = [];
  for (const api of platform.apis.filter(({ process }) => process.runs)) {
    if (scenario.requestsLeft > 0) events.push({ weight: 6, run: () => scenario.ask(api, 1 + choices.below(3)) });
    for (const requestId of api.openStreams.keys()) {
      events.push({
        weight: 0.6,
        run: () => (platform.world.note(`the client of ${requestId} disconnects`), api.leave(requestId)),
      });
    }
  }
  if (scenario.operationsLeft > 0) events.push({ weight: 2, run: () => scenario.operate() });
  return events;
}

function queueEvents(scenario: Scenario): ScenarioEvent[] {
  const { platform, choices, world } = scenario;
  const { store, workers } = platform;
  const events: ScenarioEvent[] = [];
  for (const worker of workers.filter(({ process, isBusy }) => process.runs && !isBusy)) {
    for (const job of store.waiting) {
      // Most engines work correctly.
      const run = () => void worker.take(job, choices.pick([{ weight: 90, failure: 0 }, ...engineFailures]).failure);
      events.push({ weight: 6, run });
    }
  }
  if (store.hasStalled(world.nowMs())) {
    events.push({
      weight: 5,
      run: () => (world.note('stalled jobs are recovered'), store.cancelStalled(world.nowMs())),
    });
  }
  return events;
}

const engineFailures = [
  { weight: 4, failure: 1 },
  { weight: 4, failure: 2 },
  { weight: 4, failure: 3 },
];

function opsEvents(scenario: Scenario): ScenarioEvent[] {
  const { platform, choices, world } = scenario;
  const events: ScenarioEvent[] = [];
  const due = platform.store.deliverable(world.nowMs());
  const reported = [...platform.requests.values()].flatMap(({ reports }) => reports);
  for (const ops of platform.ops.filter(({ process }) => process.runs)) {
    const [first] = due;
    if (first !== undefined) {
      events.push({ weight: 6, run: () => void ops.settle([first]) });
      if (due.length > 1) events.push({ weight: 4, run: () => void ops.settle(due) });
    }
    if (!ops.maySweep) continue;
    ops.sweeps.forEach((_sweep, place) => events.push({ weight: 0.3, run: () => void ops.sweep(place) }));
  }
  if (reported.length > 0) {
    // At-least-once delivery is sometimes twice, and sometimes late.
    const again = () => {
      const result = reported[choices.below(reported.length)];
      if (result === undefined) return;
      world.note(`the result of ${result.requestId}/${result.attempt} is delivered again`);
      platform.store.report(result, world.nowMs());
    };
    events.push({ weight: scenario.isForgetful ? 3 : 0.8, run: again });
  }
  return events;
}

function timeEvents(scenario: Scenario): ScenarioEvent[] {
  const { platform, world } = scenario;
  const { store } = platform;
  const nowMs = world.nowMs();
  const hasOps = platform.ops.some(({ process }) => process.runs);
  const due = hasOps ? store.deliverable(nowMs).map(({ dueAtMs }) => dueAtMs) : [];
  const since = [...world.ready.map(({ sinceMs }) => sinceMs), ...due];
  if (since.some((atMs) => nowMs - atMs >= slowestMs)) return [];
  const pass = (weight: number, milliseconds: number): ScenarioEvent => ({
    weight,
    run: () => platform.passTime(milliseconds),
  });
  if (since.length > 0) return [pass(2, 1_000)];
  return [pass(0.8, 1_000), pass(0.6, 4_000), pass(0.4, 11_000), pass(0.3, 20_000)];
}

function breakEvents(scenario: Scenario): ScenarioEvent[] {
  const { platform, world } = scenario;
  const events: ScenarioEvent[] = [];
  // An idle process may as well die before the scenario.
  const isBusy = world.ready.length > 0 || platform.store.jobs.size > 0 || platform.store.results.length > 0;
  for (const process of platform.processes) {
    if (process.isDead || (!isBusy && !process.isFrozen)) continue;
    events.push({ weight: 0.2, run: () => (world.note(`${process.name} is killed`), world.kill(process)) });
    if (process.isFrozen) events.push({ weight: 2, run: () => thaw(scenario, process) });
    else events.push({ weight: 0.2, run: () => freeze(scenario, process) });
  }
  for (const worker of platform.workers.filter(({ process, isStopping }) => process.runs && !isStopping)) {
    if (!isBusy) break;
    events.push({ weight: 0.2, run: () => (world.note(`${worker.process.name} stops`), void worker.stop()) });
  }
  if (platform.apis.every(({ process }) => process.isDead))
    events.push({ weight: 4, run: () => void scenario.addApi() });
  if (platform.workers.every(({ process, isStopping }) => process.isDead || isStopping))
    events.push({ weight: 4, run: () => void scenario.addWorker() });
  if (platform.ops.every(({ process }) => process.isDead))
    events.push({ weight: 4, run: () => void scenario.addOps() });
  const flush = () => (world.note('the queue loses all data'), platform.store.flush());
  const { jobs, results } = platform.store;
  // Work that is done but not yet recorded is the worst to lose.
  const flushedEvents = results.length > 0 ? 14 : 3;
  if (jobs.size + results.length > 0) events.push({ weight: scenario.isForgetful ? flushedEvents : 0.2, run: flush });
  return events;
}

function freeze({ world }: Scenario, process: SimProcess): void {
  world.note(`${process.name} freezes`);
  process.isFrozen = true;
}

/** Its heartbeat returns, and it learns what has happened meanwhile. */
function thaw({ world, platform }: Scenario, process: SimProcess): void {
  world.note(`${process.name} continues`);
  process.isFrozen = false;
  process.lastHeartbeatAtMs = world.nowMs();
  for (const worker of platform.workers) worker.checkExpiry();
  for (const api of platform.apis) api.checkExpiry();
}
