import type { Facilitator, OnChain, PaymentChain, SignedPayment } from '#payments';
import type { Choices } from './choices.js';
import type { SimProcess, World } from './world.js';

interface SentTransfer {
  transaction: string;
  isMined: boolean;
}

/** What a facilitator does with a payment that it shall settle. */
const settlements = [
  { weight: 50, does: 'settles' },
  { weight: 20, does: 'pending' },
  { weight: 10, does: 'throws' },
  { weight: 10, does: 'refuses' },
  { weight: 10, does: 'lies' },
] as const;

const nonceOf = ({ payload }: SignedPayment): string => (payload.authorization as { nonce: string }).nonce;

/** The chain of a scenario and its facilitator. Calls of them are steps, whose replies may be lost. */
export class SimChain {
  private readonly transfers = new Map<string, SentTransfer>();
  private readonly said = new Map<string, string>();
  /** Payments that clients signed. */
  readonly signed = new Map<string, SignedPayment>();

  constructor(
    private readonly world: World,
    private readonly choices: Choices,
    private readonly validUntilMs: number,
  ) {}

  /** The authorization is not used, and no later block may use it. */
  get hasEnded(): boolean {
    return this.world.nowMs() >= this.validUntilMs;
  }

  get unmined(): SentTransfer[] {
    return [...this.transfers.values()].filter(({ isMined }) => !isMined);
  }

  get mined(): SentTransfer[] {
    return [...this.transfers.values()].filter(({ isMined }) => isMined);
  }

  isPaid(nonce: string): boolean {
    return this.transfers.get(nonce)?.isMined === true;
  }

  /** The transaction that a facilitator named, whether it was true or not. */
  saidOf(payment: SignedPayment): string | null {
    return this.said.get(nonceOf(payment)) ?? null;
  }

  /** An authorization is used once, whoever sends it; after its end, by no block. */
  send(nonce: string, isMined: boolean): string {
    const known = this.transfers.get(nonce);
    const transaction = known?.transaction ?? `tx-${nonce}`;
    if (!this.hasEnded) this.transfers.set(nonce, { transaction, isMined: isMined || known?.isMined === true });
    return transaction;
  }

  mine(): void {
    for (const transfer of this.transfers.values()) if (!this.hasEnded) transfer.isMined = true;
  }

  /** The last block is replaced by one without its transfers. */
  reorganize(): void {
    for (const transfer of this.transfers.values()) transfer.isMined = false;
  }

  chainFor(process: SimProcess): PaymentChain {
    return {
      lookUp: (payment) => {
        const label = `look up ${nonceOf(payment)}`;
        return this.world.step<OnChain>(process, { label, start: () => this.find(nonceOf(payment)) });
      },
    };
  }

  facilitatorFor(process: SimProcess): Facilitator {
    return {
      verify: (payment) => {
        const payer = (payment.payload.authorization as { from: string }).from;
        const label = `verify ${nonceOf(payment)}`;
        return this.world.step(process, { label, start: () => ({ valid: true as const, payer }) });
      },
      settle: (payment) => {
        const label = `settle ${nonceOf(payment)}`;
        return this.world.step(process, { label, start: () => this.settle(nonceOf(payment)) });
      },
    };
  }

  private find(nonce: string): OnChain {
    const transfer = this.transfers.get(nonce);
    if (transfer?.isMined) return { state: 'settled', transaction: transfer.transaction };
    return { state: 'unused', chainTimeMs: this.world.nowMs() };
  }

  private settle(nonce: string) {
    const { does } = this.choices.pick(settlements);
    this.world.note(`the facilitator ${does}`);
    switch (does) {
      case 'settles':
      case 'pending': {
        const transaction = this.send(nonce, does === 'settles');
        if (does === 'settles') this.said.set(nonce, transaction);
        return { outcome: does === 'settles' ? ('settled' as const) : ('pending' as const), transaction };
      }
      case 'throws':
        if (this.choices.chance(500)) this.send(nonce, false);
        throw new Error('the connection ended');
      case 'refuses':
        return { outcome: 'failed' as const, reason: 'insufficient_funds', message: 'Too little.' };
      case 'lies':
        this.said.set(nonce, 'tx-none');
        return { outcome: 'settled' as const, transaction: 'tx-none' };
    }
  }
}
