import { Controller, Inject, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { JobQuote, ModelPrice } from '#billing';
import { type NanoUsd, PlatformError } from '#common';
import {
  type AdmittedUse,
  balanceHeaders,
  ClientDisconnectedError,
  type AbortSources,
  abortSources,
  type InferenceServices,
  inferenceServices,
  type JobStream,
  modelHeaders,
  openJobStream,
} from '#gateway';
import { Billed, callerOf, disconnectSignal, LimitedByModel, validateWire } from '#platform/http';
import type { ResolvedModel } from '#model-registry';
import type { ModelManifest, TextConstraints, TextPricing } from '#model-registry/manifest';
import type { ChatEvent } from '../contract/chat.events.js';
import { type ChatJobPayload, chatJob } from '../contract/chat.job.js';
import { ChatCompletionRequest } from '../contract/chat.request.js';
import { admitAffordable } from './chat.admission.js';
import { affinityOf } from './chat.affinity.js';
import { chatDemand, boundChatToTokens } from './chat.demand.js';
import { ChatApiDocument } from './chat.document.js';
import { type ChatModel, normalizeChat, type NormalizedChat } from './chat.normalizer.js';
import { type ChatCompletionHead, ChatCompletionCollector } from './chat.presenter.js';
import { ChatStream } from './chat.stream.js';
import { refusal } from './chat.support.js';

const defaultMaxChoices = 4;
/** Models whose manifest names no context are held to this many tokens. */
const defaultContextLength = 2048;

/** One request on its way: what the wire said and what it became. */
interface OpenedChat {
  wire: ChatCompletionRequest;
  exchange: JobStream<ChatEvent>;
  ends: AbortSources;
  head: ChatCompletionHead;
}

/** A chat that may run, if it can be paid. */
interface Admissible {
  payload: ChatJobPayload;
  resolved: ResolvedModel;
  price: ModelPrice;
  stream: boolean;
  tokenReservation: AdmittedUse['tokenReservation'];
}

/** A chat that runs. */
interface Admitted {
  exchange: JobStream<ChatEvent>;
  /** DIEM that are held for it. */
  heldDiemNano: NanoUsd;
}

function chatModel({ manifest, suffix }: ResolvedModel): ChatModel {
  const contextLength = manifest.contextLength ?? defaultContextLength;
  return {
    id: manifest.id,
    capabilities: manifest.capabilities,
    maxChoices: manifest.maxChoices ?? defaultMaxChoices,
    maxCompletionTokens: manifest.maxCompletionTokens ?? contextLength,
    contextLength,
    systemPrompt: manifest.systemPrompt ?? null,
    constraints: (manifest.constraints as TextConstraints | undefined) ?? null,
    suffix,
  };
}

const clientKeyHeader = 'x-service-tee-client-pub-key';

/** Nothing here opens a sealed request: its ciphertext would be answered, and charged, as if it were the prompt. */
function refuseSealed({ headers }: FastifyRequest, { id }: ModelManifest): void {
  if (headers[clientKeyHeader] === undefined) return;
  throw refusal(`The model ${id} does not support end-to-end encryption.`, clientKeyHeader, 'unsupported');
}

@Controller('chat')
export class ChatController {
  constructor(@Inject(inferenceServices) private readonly services: InferenceServices) {}

  @Post('completions')
  @Billed()
  @LimitedByModel()
  @ChatApiDocument()
  async complete(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const opened = await this.open(request, reply);
    try {
      if (opened.wire.stream === true) await this.stream(opened, reply);
      else await this.answer(opened, reply);
    } catch (error) {
      // Nobody is left to read an answer.
      if (!(error instanceof ClientDisconnectedError)) throw error;
      reply.hijack();
    }
  }

  private async open(request: FastifyRequest, reply: FastifyReply): Promise<OpenedChat> {
    const disconnected = disconnectSignal(reply);
    const wire = validateWire(ChatCompletionRequest, request.body);
    const resolved = await this.services.resolve(wire.model, 'text', request);
    const { manifest } = resolved;
    void reply.headers(modelHeaders(resolved));
    refuseSealed(request, manifest);
    const chat = normalizeChat(wire, chatModel(resolved));
    if (resolved.offline) {
      throw new PlatformError('MODEL_OFFLINE', `No worker holds the model ${manifest.id} at the moment.`, 'model');
    }
    const reach = chatModel(resolved);
    const tokens = chatDemand(chat, reach);
    const allowed = await this.services.limit({ request, reply }, { model: manifest, tokens });
    const payload = boundChatToTokens(chat.payload, reach, allowed.tokens);
    const price = await this.services.price(manifest.id, request.id);
    const { tokenReservation } = allowed;
    const stream = wire.stream === true;
    const { exchange, heldDiemNano } = await this.admit(request, reply, {
      payload,
      resolved,
      price,
      stream,
      tokenReservation,
    });
    const deadlineMs = this.services.settings.chatDeadlineMs;
    const ends = abortSources(this.services, { modelId: manifest.id, disconnected, deadlineMs });
    return { wire, exchange, ends, head: this.head(request, chat, { price, heldDiemNano }) };
  }

  private async admit(
    request: FastifyRequest,
    reply: FastifyReply,
    { payload, resolved, price, stream, tokenReservation }: Admissible,
  ): Promise<Admitted> {
    const { services } = this;
    const { contextLength, maxCompletionTokens } = chatModel(resolved);
    const tariff = { contextLength, maxCompletionTokens, pricing: price.pricing as TextPricing | null };
    const job = {
      requestId: request.id,
      caller: callerOf(request),
      definition: chatJob,
      modelId: resolved.manifest.id,
      deadlineMs: services.settings.chatDeadlineMs,
      replyTo: services.replyTo(),
      stream,
      tokenReservation,
      affinity: affinityOf(payload),
    };
    let heldDiemNano = 0n;
    const onQuote = (quote: JobQuote): void => {
      heldDiemNano = quote.heldDiemNano;
      void reply.headers(balanceHeaders(quote));
    };
    const exchange = await openJobStream<ChatEvent>(services, request.id, () =>
      admitAffordable({ request: job, payload, tariff, price }, (opened) => services.admit(opened), onQuote),
    );
    return { exchange, heldDiemNano };
  }

  private head(
    request: FastifyRequest,
    chat: NormalizedChat,
    { price, heldDiemNano }: { price: ModelPrice; heldDiemNano: NanoUsd },
  ): ChatCompletionHead {
    return {
      requestId: request.id,
      created: Math.floor(Date.now() / 1000),
      modelId: price.modelId,
      n: chat.payload.n,
      withLogprobs: chat.payload.topLogprobs !== null,
      pricing: price.pricing as TextPricing | null,
      heldDiemNano,
      parameters: chat.parameters,
    };
  }

  private async answer({ exchange, ends, head }: OpenedChat, reply: FastifyReply): Promise<void> {
    let collector = new ChatCompletionCollector(head);
    const usage = await exchange.run(
      ends,
      (event) => collector.add(event),
      () => (collector = new ChatCompletionCollector(head)),
    );
    void reply.status(200).send(collector.answer(usage));
  }

  private async stream({ wire, exchange, ends, head }: OpenedChat, reply: FastifyReply): Promise<void> {
    const { keepAliveMs, stalledMs } = this.services.settings;
    const includeUsage = wire.stream_options?.include_usage === true;
    const stream = new ChatStream(reply, head, { keepAliveMs, stalledMs, includeUsage });
    stream.open();
    try {
      await stream.finish(await exchange.run(ends, (event) => stream.add(event)));
    } catch (error) {
      const frame =
        error instanceof ClientDisconnectedError ? null : this.services.errorFrame(PlatformError.from(error));
      if (!(await stream.fail(frame))) throw error;
    }
  }
}
