import type { Weighted } from './choices.js';
import type { Story } from './story.js';
import type { SimProcess, StepFault } from './world.js';

interface StoryEvent extends Weighted {
  run(): Promise<void> | void;
}

/**
 * Processes that run are no slower than this, in ms: what is ready is done, and what waits is taken, before more time
 * passes. The promises of the platform are promises about time.
 */
const slowestMs = 2_000;

const faults: (Weighted & { fault: StepFault })[] = [
  { weight: 960, fault: 'none' },
  { weight: 20, fault: 'lost-before' },
  { weight: 20, fault: 'lost-after' },
];

/** What may happen next; the first is the quietest: the oldest step of a process is done. */
export function chaosOptions(story: Story): StoryEvent[] {
  const { world } = story;
  if (story.isQuiet) return [];
  const steps = world.ready.map(({ id }): StoryEvent => ({
    weight: 12,
    run: () => world.perform(id, story.choices.pick(faults).fault),
  }));
  return [
    ...steps,
    ...requestEvents(story),
    ...queueEvents(story),
    ...opsEvents(story),
    ...timeEvents(story),
    ...breakEvents(story),
  ];
}

function requestEvents(story: Story): StoryEvent[] {
  const { platform, choices } = story;
  const events: StoryEvent[] = [];
  for (const api of platform.apis.filter(({ process }) => process.runs)) {
    if (story.requestsLeft > 0) events.push({ weight: 6, run: () => story.ask(api, 1 + choices.below(3)) });
    for (const requestId of api.exchanges.keys()) {
      events.push({
        weight: 0.6,
        run: () => (platform.world.note(`the caller of ${requestId} leaves`), api.leave(requestId)),
      });
    }
  }
  if (story.operationsLeft > 0) events.push({ weight: 2, run: () => story.operate() });
  return events;
}

function queueEvents(story: Story): StoryEvent[] {
  const { platform, choices, world } = story;
  const { store, workers } = platform;
  const events: StoryEvent[] = [];
  for (const worker of workers.filter(({ process, isBusy }) => process.runs && !isBusy)) {
    for (const job of store.waiting) {
      // Most engines do what they should.
      const run = () => void worker.take(job, choices.pick([{ weight: 90, failure: 0 }, ...engineFailures]).failure);
      events.push({ weight: 6, run });
    }
  }
  if (store.hasStalled(world.nowMs())) {
    events.push({
      weight: 5,
      run: () => (world.note('stalled jobs are taken back'), store.takeBackStalled(world.nowMs())),
    });
  }
  return events;
}

const engineFailures = [
  { weight: 4, failure: 1 },
  { weight: 4, failure: 2 },
  { weight: 4, failure: 3 },
];

function opsEvents(story: Story): StoryEvent[] {
  const { platform, choices, world } = story;
  const events: StoryEvent[] = [];
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
    // At least once is sometimes twice, and sometimes late.
    const again = () => {
      const outcome = reported[choices.below(reported.length)];
      if (outcome === undefined) return;
      world.note(`the outcome of ${outcome.requestId}/${outcome.attempt} comes again`);
      platform.store.report(outcome, world.nowMs());
    };
    events.push({ weight: story.isForgetful ? 3 : 0.8, run: again });
  }
  return events;
}

function timeEvents(story: Story): StoryEvent[] {
  const { platform, world } = story;
  const { store } = platform;
  const nowMs = world.nowMs();
  const hasOps = platform.ops.some(({ process }) => process.runs);
  const due = hasOps ? store.deliverable(nowMs).map(({ dueAtMs }) => dueAtMs) : [];
  const since = [...world.ready.map(({ sinceMs }) => sinceMs), ...due];
  if (since.some((atMs) => nowMs - atMs >= slowestMs)) return [];
  const pass = (weight: number, milliseconds: number): StoryEvent => ({
    weight,
    run: () => platform.passTime(milliseconds),
  });
  if (since.length > 0) return [pass(2, 1_000)];
  return [pass(0.8, 1_000), pass(0.6, 4_000), pass(0.4, 11_000), pass(0.3, 20_000)];
}

function breakEvents(story: Story): StoryEvent[] {
  const { platform, world } = story;
  const events: StoryEvent[] = [];
  // What stands idle may as well die before the story.
  const isBusy = world.ready.length > 0 || platform.store.jobs.size > 0 || platform.store.outcomes.length > 0;
  for (const process of platform.processes) {
    if (process.isDead || (!isBusy && !process.isFrozen)) continue;
    events.push({ weight: 0.2, run: () => (world.note(`${process.name} is killed`), world.kill(process)) });
    if (process.isFrozen) events.push({ weight: 2, run: () => thaw(story, process) });
    else events.push({ weight: 0.2, run: () => freeze(story, process) });
  }
  if (platform.apis.every(({ process }) => process.isDead)) events.push({ weight: 4, run: () => void story.addApi() });
  if (platform.workers.every(({ process }) => process.isDead))
    events.push({ weight: 4, run: () => void story.addWorker() });
  if (platform.ops.every(({ process }) => process.isDead)) events.push({ weight: 4, run: () => void story.addOps() });
  const flush = () => (world.note('the queue forgets everything'), platform.store.flush());
  const { jobs, outcomes } = platform.store;
  // What was done and is not written down yet is the worst to lose.
  const forgetful = outcomes.length > 0 ? 14 : 3;
  if (jobs.size + outcomes.length > 0) events.push({ weight: story.isForgetful ? forgetful : 0.2, run: flush });
  return events;
}

function freeze({ world }: Story, process: SimProcess): void {
  world.note(`${process.name} stands still`);
  process.isFrozen = true;
}

/** It is heard again, and finds out what has happened meanwhile. */
function thaw({ world, platform }: Story, process: SimProcess): void {
  world.note(`${process.name} goes on`);
  process.isFrozen = false;
  process.heardAtMs = world.nowMs();
  for (const worker of platform.workers) worker.lookAround();
  for (const api of platform.apis) api.lookAround();
}
