import { PlatformError } from '#common';
import type { HostInquiry } from '#inference/host';
import type { QueueTransport } from '#queue';
import type { ServedModel } from './served-model.js';

type HostQuestion = Parameters<QueueTransport['hosts']['ask']>[0];

/** Passes a question of an api on to the host of a model. Rejects with the error of the host, or `MODEL_OFFLINE`. */
export async function answerHostQuestion(
  models: readonly Pick<ServedModel, 'serves' | 'host'>[],
  { modelId, question }: HostQuestion,
): Promise<object> {
  const inquiry = readInquiry(question);
  const model = models.find((served) => served.serves(modelId));
  if (model === undefined) throw new PlatformError('MODEL_OFFLINE', 'The worker serves the model no more.');
  return await model.host.ask(inquiry);
}

/** Rejects what no api of this version asks: an earlier worker meets a later api while both are replaced. */
function readInquiry(question: object): HostInquiry {
  const { type, nonce, requestId, text, exchange } = question as Record<string, unknown>;
  if (type === 'attest' && typeof nonce === 'string') return { type, nonce };
  if (type === 'sign' && typeof requestId === 'string' && typeof text === 'string') {
    return { type, requestId, text, ...(exchange !== undefined && { exchange: readExchange(exchange) }) };
  }
  throw unknownQuestion();
}

function readExchange(exchange: unknown): { chatId: string; model: string; endpoint: string } {
  const { chatId, model, endpoint } = (exchange ?? {}) as Record<string, unknown>;
  if (typeof chatId === 'string' && typeof model === 'string' && typeof endpoint === 'string') {
    return { chatId, model, endpoint };
  }
  throw unknownQuestion();
}

function unknownQuestion(): PlatformError {
  return new PlatformError('INVALID_REQUEST', 'The worker does not know this question.');
}
