import type { AdmissionStep, ClosingStep, JobsRepository } from '#jobs';
import type { PrismaService } from '#platform/prisma';
import type { Rewrite } from './sim-database.js';
import { usageOf } from './sim-request.js';

/** A change of a database function. */
export interface PlantedFunction {
  name: string;
  find: string;
  replace: string;
}

/**
 * A bug planted into the production code of a simulation: in functions and constraints of the database, in statements,
 * or around a step. Each must be found; see `simulation.int-spec.ts`.
 */
export interface PlantedBug {
  name: string;
  /** A seed that found it once, tried first; changes of the code may make other seeds find it. */
  seenAt?: number;
  functions?: readonly PlantedFunction[];
  /** Additional statements, such as dropping a constraint that would catch the bug first. */
  schema?: readonly string[];
  rewrite?: Rewrite;
  jobs?(repository: JobsRepository): JobsRepository;
  settlement?(step: ClosingStep): ClosingStep;
  reservation?(step: AdmissionStep, prisma: PrismaService): AdmissionStep;
  /** Sweeps act without a second confirmation. */
  hastySweeps?: boolean;
  /** A job result leaves the queue before its row is closed. */
  forgetsFailedResults?: boolean;
}

/** Replaces a fragment in every statement that contains it. */
function exchange(find: string, replace: string): Rewrite {
  return (text) => text.replace(find, replace);
}

/** Skips some closings. */
function skipping(step: ClosingStep, isSkipped: (job: { errorCode: string | null }) => boolean): ClosingStep {
  return {
    close: (transaction, jobs) =>
      step.close(
        transaction,
        jobs.filter((job) => !isSkipped(job)),
      ),
  };
}

export const plantedBugs: readonly PlantedBug[] = [
  {
    name: 'double settle: a reservation is closed repeatedly',
    functions: [{ name: 'ledger_close', find: `IF hold.state <> 'open' THEN`, replace: 'IF false THEN' }],
    schema: ['DROP INDEX ledger_transactions_one_charge'],
    rewrite: exchange(`AND jobs.state IN ('queued', 'running')`, ''),
  },
  {
    name: 'a closed row is closed again: no compare-and-set',
    seenAt: 412,
    rewrite: exchange(`AND jobs.state IN ('queued', 'running')`, ''),
  },
  {
    name: 'unfenced attempt: results of earlier attempts close the row',
    seenAt: 1072,
    functions: [{ name: 'ledger_close', find: 'IF hold.attempt <> p_attempt THEN', replace: 'IF false THEN' }],
    rewrite: exchange('AND jobs.attempt = g.attempt', ''),
  },
  {
    name: 'lost release: failed jobs keep their reservation',
    settlement: (step) => skipping(step, ({ errorCode }) => errorCode !== null),
  },
  {
    name: 'lost settlement: successful jobs keep their reservation',
    settlement: (step) => skipping(step, ({ errorCode }) => errorCode === null),
  },
  {
    name: 'check-then-act: the balance is read without its lock',
    seenAt: 138,
    functions: [
      { name: 'ledger_lock', find: 'WHERE account_id = p_account FOR UPDATE', replace: 'WHERE account_id = p_account' },
    ],
    schema: ['ALTER TABLE balances DROP CONSTRAINT balances_cover_holds'],
  },
  {
    name: 'the limit of a key ignores what is reserved',
    seenAt: 277,
    functions: [{ name: 'ledger_reserve', find: '- COALESCE(s.held_usd_nano, 0)', replace: '' }],
  },
  {
    name: 'a reservation does not follow the attempt of its row',
    seenAt: 73,
    schema: ['DROP TRIGGER jobs_fence_holds ON jobs'],
  },
  {
    name: 'a charge may exceed its reservation',
    functions: [
      {
        name: 'ledger_close',
        find: 'LEAST(line."amountNano", unspent[1] + unspent[2] + unspent[3])',
        replace: 'line."amountNano"',
      },
      {
        name: 'ledger_close',
        find: 'part := LEAST(line_left, unspent[place])',
        replace: "part := CASE names[place] WHEN 'USD' THEN line_left ELSE LEAST(line_left, unspent[place]) END",
      },
    ],
    schema: [
      'ALTER TABLE holds DROP CONSTRAINT holds_charge_within',
      'ALTER TABLE balances DROP CONSTRAINT balances_cover_holds',
    ],
  },
  {
    name: 'the surplus of a reservation is not refunded',
    functions: [
      {
        name: 'ledger_close',
        find: 'usd_held_nano = usd_held_nano - hold.usd_nano',
        replace: 'usd_held_nano = usd_held_nano - hold.usd_nano + unspent[3]',
      },
    ],
    schema: ['ALTER TABLE balances DROP CONSTRAINT balances_cover_holds'],
  },
  {
    name: 'the reservation has a transaction of its own',
    reservation: (step, prisma) => ({
      admit: (_transaction, admissions) => prisma.$prepared((transaction) => step.admit(transaction, admissions)),
    }),
  },
  {
    name: 'a job result is dropped before its row is closed',
    seenAt: 535,
    forgetsFailedResults: true,
  },
  {
    name: 'sweeps act on a single observation',
    seenAt: 450,
    hastySweeps: true,
  },
  {
    name: 'a server failure is charged',
    settlement: (step) => ({
      close: (transaction, jobs) =>
        step.close(
          transaction,
          jobs.map((job) => ({ ...job, errorCode: null, usage: job.usage ?? usageOf(1) })),
        ),
    }),
  },
  {
    name: 'a grant is posted once per request instead of once per reference',
    functions: [{ name: 'ledger_credit', find: 'WHERE t.reference = p_reference', replace: 'WHERE false' }],
    schema: ['DROP INDEX ledger_transactions_reference_key'],
  },
  {
    name: 'DIEM of another day are refunded',
    seenAt: 644,
    functions: [
      {
        name: 'ledger_close',
        find: 'IF unspent[1] > 0 AND hold.diem_epoch < balance.diem_epoch THEN',
        replace: 'IF false THEN',
      },
    ],
  },
];
