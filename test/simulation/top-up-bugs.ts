import type { PaymentChain } from '#payments';
import type { PlantedBug } from './planted-bugs.js';
import type { SimChain } from './sim-chain.js';

/** A bug planted into top-ups: in functions and statements of the database, or in what the chain is believed to say. */
export interface TopUpBug extends PlantedBug {
  chain?(chain: PaymentChain, facts: SimChain): PaymentChain;
}

const exchange = (find: string, replace: string) => (text: string) => text.replace(find, replace);

export const topUpBugs: readonly TopUpBug[] = [
  {
    name: 'double credit: a settled payment is credited again',
    functions: [
      { name: 'top_up_settle', find: `IF top_up.state = 'settled' THEN`, replace: 'IF false THEN' },
      { name: 'top_up_settle', find: 'IF top_up.amount_nano > top_up.posted_nano THEN', replace: 'IF true THEN' },
      { name: 'top_up_settle', find: 'top_up.amount_nano - top_up.posted_nano,', replace: 'top_up.amount_nano,' },
    ],
  },
  {
    name: 'a settled payment without its credit',
    functions: [
      { name: 'top_up_settle', find: 'IF top_up.amount_nano > top_up.posted_nano THEN', replace: 'IF false THEN' },
    ],
  },
  {
    name: 'one payment may have two rows',
    schema: ['DROP INDEX top_ups_payment_key_key'],
  },
  {
    name: 'the word of the facilitator credits',
    chain: (chain, facts) => ({
      lookUp: async (payment, signal) => {
        const found = await chain.lookUp(payment, signal);
        const transaction = facts.saidOf(payment);
        return found.state === 'unused' && transaction !== null ? { state: 'settled', transaction } : found;
      },
    }),
  },
  {
    name: 'an unknown result is a failure',
    rewrite: exchange(
      `next_look_at = clock_timestamp() + `,
      `state = (CASE WHEN state = 'pending' THEN 'failed' ELSE state::text END)::top_up_state, next_look_at = NULL + `,
    ),
  },
  {
    name: 'a payment expires by the clock of this machine',
    chain: (chain) => ({
      lookUp: async (payment, signal) => {
        const found = await chain.lookUp(payment, signal);
        return found.state === 'unused' ? { ...found, chainTimeMs: found.chainTimeMs + 600_000 } : found;
      },
    }),
  },
  {
    name: 'a refused payment is not looked at again',
    rewrite: exchange(`THEN valid_until + interval '1 minute'`, 'THEN NULL::timestamptz'),
  },
  {
    name: 'the credit of a lost block stays',
    functions: [{ name: 'top_up_reverse', find: 'IF taken > 0 THEN', replace: 'taken := 0; IF false THEN' }],
  },
  {
    name: 'a reversed credit is not recorded',
    functions: [
      { name: 'top_up_reverse', find: 'posted_nano = posted_nano - taken', replace: 'posted_nano = posted_nano' },
    ],
  },
];
