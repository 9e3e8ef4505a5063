import { afterAll, afterEach, beforeAll, describe } from 'vitest';
import { describeAffinity } from './conformance/affinity.conformance.js';
import { describeFairness } from './conformance/fairness.conformance.js';
import { describeCancelling } from './conformance/cancelling.conformance.js';
import { describeJobs } from './conformance/jobs.conformance.js';
import { describeReplies } from './conformance/replies.conformance.js';
import { describeOutages } from './conformance/outages.conformance.js';
import { describeJobResults } from './conformance/job-results.conformance.js';
import { describeHostQuestions } from './conformance/host-questions.conformance.js';
import { describeHandBack } from './conformance/hand-back.conformance.js';
import { describePlacements } from './conformance/placements.conformance.js';
import { describeMembership } from './conformance/membership.conformance.js';
import { describeProgress } from './conformance/progress.conformance.js';
import { describeSealing } from './conformance/sealing.conformance.js';
import { type ConformanceStore, World } from './conformance/fixture.conformance.js';

/** Proves that a store keeps every promise of `transport.ts`, or those of some topics. */
export function describeTransport(
  name: string,
  startStore: () => Promise<ConformanceStore>,
  topics: readonly ((world: () => World) => void)[] = allTopics,
): void {
  describe(`${name} transport`, () => {
    let world: World;
    beforeAll(async () => {
      world = new World(await startStore());
    });
    afterEach(() => world.closeProcesses());
    afterAll(() => world.store.close());

    for (const describeTopic of topics) describeTopic(() => world);
  });
}

const allTopics = [
  describeJobs,
  describeHandBack,
  describeAffinity,
  describeFairness,
  describeCancelling,
  describeReplies,
  describeMembership,
  describeHostQuestions,
  describeProgress,
  describePlacements,
  describeJobResults,
  describeSealing,
  describeOutages,
];
