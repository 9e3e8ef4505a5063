import { randomBytes } from 'node:crypto';
import { AccountsRepository, AccountsService, type Caller } from '#accounts';
import {
  createLedger,
  JobQuote,
  KeyUsageRepository,
  LedgerRepository,
  ReservationStep,
  SettlementStep,
} from '#billing';
import { nanosPerUsd, newRequestId } from '#common';
import { AdmissionService, JobCloser, JobsRepository, PayloadCipher, ResultTickets } from '#jobs';
import { chatJob } from '#modalities/chat/contract';
import { createLogger } from '#platform/logging';
import type { PrismaService } from '#platform/prisma';
import type { QueueTransport } from '#queue';

/** Admits jobs with a reservation and closes them with a charge, as api and ops do, without a queue. */
export interface PaidJobs {
  run(count: number, concurrency: number): Promise<void>;
}

const usage = { promptTokens: 20, cachedTokens: 0, completionTokens: 50, reasoningTokens: 0 };
const price = { id: 1n, modelId: 'bench', pricing: null };
const payload = { messages: [{ role: 'user', content: 'x'.repeat(200) }] };
const lines = [
  { sku: 'bench-llm-input-mtoken', units: '0.000020', unitPriceNano: 50_000_000n, amountNano: 1_000n },
  { sku: 'bench-llm-output-mtoken', units: '0.000050', unitPriceNano: 100_000_000n, amountNano: 5_000n },
];

/** A queue that accepts and discards everything. */
const noQueue = {
  producer: {
    requireRoom: () => undefined,
    counts: () => Promise.resolve({ waiting: 0, active: 0, delayed: 0 }),
    enqueue: () => Promise.resolve(),
  },
} as unknown as QueueTransport;

/** `accounts` accounts with ample credit, used in rotation. */
export async function openPaidJobs(prisma: PrismaService, accounts: number): Promise<PaidJobs> {
  const callers = await openCallers(prisma, accounts);
  const jobs = new JobsRepository(prisma);
  const closer = new JobCloser(jobs, [new SettlementStep(new LedgerRepository(prisma), () => lines)]);
  const secretKey = randomBytes(32).toString('hex');
  const admission = AdmissionService.of({
    jobs,
    closer,
    cipher: new PayloadCipher(secretKey),
    tickets: new ResultTickets(secretKey),
    transport: noQueue,
    logger: createLogger('bench', { level: 'warn' }),
    queueLimit: 1_000_000,
    steps: [new ReservationStep(new LedgerRepository(prisma), new KeyUsageRepository(prisma))],
  });
  const one = async (caller: Caller): Promise<void> => {
    const requestId = newRequestId('BEN');
    const quote = new JobQuote(100_000n, price, usage);
    const request = { requestId, caller, definition: chatJob, modelId: 'bench', payload, replyTo: null, stream: false };
    await admission.open({ ...request, bounds: usage, quote });
    await closer.close({ requestId, attempt: 1, state: 'succeeded', errorCode: null, usage, executionMs: 1 });
  };
  return {
    run: async (count, concurrency) => {
      let next = 0;
      const worker = async (): Promise<void> => {
        for (let index = next++; index < count; index = next++) {
          const caller = callers[index % callers.length];
          if (caller) await one(caller);
        }
      };
      await Promise.all(Array.from({ length: concurrency }, worker));
    },
  };
}

async function openCallers(prisma: PrismaService, count: number): Promise<Caller[]> {
  const accounts = new AccountsService(new AccountsRepository(prisma));
  const ledger = createLedger(prisma);
  const callers: Caller[] = [];
  for (let index = 0; index < count; index += 1) {
    const { id } = await accounts.createAccount('bench');
    const { key } = await accounts.createKey({ accountId: id, kind: 'INFERENCE' });
    await ledger.credit('grant', { accountId: id, currency: 'USD', amountNano: nanosPerUsd * 1_000n });
    callers.push(await accounts.authenticate(key));
  }
  return callers;
}
