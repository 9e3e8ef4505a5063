import { Injectable } from '@nestjs/common';
import { PlatformError } from '#common';
import { type ExchangeSignature, ExchangeSignaturesRepository } from '#jobs';
import { ApiConfig } from '#platform/config';
import { Logger } from '#platform/logging';
import { StoreBudgets } from '../request/store-budgets.js';
import { type TeeHost, TeeHosts } from './tee-hosts.js';

/** How long a host may take to sign, in ms: it only waits for a turn of its event loop. */
const signWithinMs = 1_500;

/** A finished exchange, and the host that answered it. */
export interface FinishedExchange extends Pick<ExchangeSignature, 'requestId' | 'responseId' | 'text'> {
  /** Path of the route. */
  endpoint: string;
  accountId: string;
  host: TeeHost;
}

type SignedByHost = Pick<ExchangeSignature, 'signature' | 'address' | 'receipt'>;

/** Lets hosts sign the exchanges that they answered, and keeps what they signed. */
@Injectable()
export class ExchangeSigner {
  constructor(
    private readonly hosts: TeeHosts,
    private readonly signatures: ExchangeSignaturesRepository,
    private readonly budgets: StoreBudgets,
    private readonly config: ApiConfig,
    private readonly logger: Logger,
  ) {}

  /** Never rejects. An exchange that the host did not sign is stored as such: its signature will never come. */
  async sign({ accountId, host, endpoint, ...exchange }: FinishedExchange): Promise<void> {
    const { requestId, responseId: chatId, text } = exchange;
    try {
      const signed = await this.askHost(host, {
        type: 'sign',
        requestId,
        text,
        exchange: { chatId, model: host.modelId, endpoint },
      });
      const row = { ...exchange, modelId: host.modelId, ...signed };
      await this.signatures.add(accountId, row, this.config.teeSignaturesMs);
    } catch (error) {
      this.logger.warn({ requestId, error }, 'the signature of a response could not be stored');
    }
  }

  /**
   * Resolves to null for a signature that is unknown, expired or of another account. Rejects with
   * `SERVICE_UNAVAILABLE`.
   */
  async find(
    accountId: string,
    { id, requestId }: { id: string; requestId: string },
  ): Promise<ExchangeSignature | null> {
    try {
      return await this.budgets.of(requestId).within(this.signatures.find(accountId, id));
    } catch (error) {
      if (error instanceof PlatformError) throw error;
      const message = 'The service cannot reach its signatures right now.';
      throw new PlatformError('SERVICE_UNAVAILABLE', message, null, { cause: error });
    }
  }

  private async askHost(host: TeeHost, question: object): Promise<SignedByHost> {
    const nothing = { signature: null, address: null, receipt: null };
    try {
      const answer = (await this.hosts.ask(host, question, signWithinMs)) as Partial<
        Record<keyof SignedByHost, unknown>
      >;
      const { signature, address, receipt } = answer;
      if (typeof signature !== 'string' || typeof address !== 'string') return nothing;
      return { signature, address, receipt: typeof receipt === 'string' ? receipt : null };
    } catch (error) {
      this.logger.warn({ model: host.modelId, error }, 'a model host did not sign a response');
      return nothing;
    }
  }
}
