import 'reflect-metadata';
import { plainToInstance } from 'class-transformer';
import { validateSync, type ValidationError } from 'class-validator';
import { PlatformError } from '#common';
import { passesQuickCheck } from './quick-check.js';
import type { JobEnvelope, PayloadClass } from './job-definition.js';

/**
 * The payload as an instance of its class. The worker checks again what the api checked, because during a rolling
 * deploy the producer may be last week's. Unknown members are dropped: payloads only grow.
 */
export function validatePayload<Payload extends object>(type: PayloadClass<Payload>, payload: unknown): Payload {
  if (typeof payload !== 'object' || payload === null) throw invalid('payload');
  const instance = plainToInstance(type, payload);
  if (passesQuickCheck(instance)) return instance;
  const [first] = validateSync(instance, { whitelist: true, forbidUnknownValues: true, stopAtFirstError: true });
  if (first !== undefined) throw invalid(pathOf(first));
  return instance;
}

/** Rejects what is no envelope; the fields decide over deadlines and money, so none is guessed. */
export function validateEnvelope(envelope: Partial<JobEnvelope>): void {
  const { requestId, modality, modelId, attempt, deadlineAtMs, replyTo } = envelope;
  const texts = [requestId, modality, modelId].every((text) => typeof text === 'string' && text !== '');
  const numbers = Number.isSafeInteger(attempt) && Number.isFinite(deadlineAtMs);
  if (!texts || !numbers || (replyTo !== null && typeof replyTo !== 'string')) throw invalid('envelope');
}

function pathOf(error: ValidationError): string {
  const [child] = error.children ?? [];
  return child === undefined ? error.property : `${error.property}.${pathOf(child)}`;
}

function invalid(param: string): PlatformError {
  return new PlatformError('INVALID_REQUEST', `The job's ${param} is not what this version expects.`, param);
}
