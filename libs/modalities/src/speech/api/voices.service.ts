import { PlatformError } from '#common';
import type { VoiceCloning } from '#model-registry/manifest';
import { Injectable } from '#platform/injection';
import { Logger } from '#platform/logging';
import { ArtifactStore } from '#storage';
import type { SpeechModel } from './speech.model.js';
import { newVoiceHandle } from './voice-handle.js';
import { type StoredVoice, VoicesRepository } from './voices.repository.js';

/** Maximum live voices of one account, which limits the storage they use. */
export const maxVoices = 100;

const dayMs = 86_400_000;

/** Recordings of voices and their handles. A handle works for its account only. */
@Injectable()
export class VoicesService {
  constructor(
    private readonly repository: VoicesRepository,
    private readonly artifacts: ArtifactStore,
    private readonly logger: Logger,
  ) {}

  /**
   * Stores a recording and returns its voice. Rejects with `INVALID_REQUEST` if the account has `maxVoices` already.
   */
  async add(
    recording: { bytes: Buffer; contentType: string },
    owner: { accountId: string; model: SpeechModel & { cloning: VoiceCloning } },
  ): Promise<StoredVoice> {
    const { accountId, model } = owner;
    if ((await this.repository.countLive(accountId)) >= maxVoices) {
      const message = `An account has at most ${maxVoices} voices; they expire by themselves.`;
      throw new PlatformError('INVALID_REQUEST', message);
    }
    await this.repository.forgetExpired();
    const { contentType, bytes } = recording;
    const lifetimeMs = model.cloning.retention_days * dayMs;
    const artifacts = this.artifacts.ofModel(model.id);
    const { id: sampleId, expiresAtMs } = await artifacts.put(bytes, { kind: 'input', contentType, lifetimeMs });
    const voice = { id: newVoiceHandle(), accountId, modelId: model.id, sampleId, expiresAt: new Date(expiresAtMs) };
    await this.repository.add(voice);
    return voice;
  }

  /** Returns the recording of a handle; null if the handle is another account's, of another model, or expired. */
  async sampleOf(accountId: string, id: string, modelId: string): Promise<string | null> {
    return (await this.repository.find({ id, accountId, modelId }))?.sampleId ?? null;
  }

  /**
   * Extends a persistent voice from its last use; a zero-shot one expires after its upload. An artifact's lifetime is
   * part of its id, so the recording is copied at most once a day; waiting jobs may still use the old one. Never
   * rejects: the speech is already paid for, and the next use tries again.
   */
  async used(accountId: string, id: string, model: SpeechModel): Promise<void> {
    try {
      await this.prolong(accountId, id, model);
    } catch (error) {
      this.logger.warn({ modelId: model.id, error }, 'the lifetime of a used voice could not be extended');
    }
  }

  private async prolong(accountId: string, id: string, { id: modelId, cloning }: SpeechModel): Promise<void> {
    if (cloning?.mode !== 'persistent') return;
    const voice = await this.repository.find({ id, accountId, modelId });
    const lifetimeMs = cloning.retention_days * dayMs;
    if (voice === null || voice.expiresAt.getTime() - Date.now() > lifetimeMs - dayMs) return;
    const artifacts = this.artifacts.ofModel(modelId);
    const { id: sampleId, expiresAtMs } = await artifacts.copy(voice.sampleId, { kind: 'input', lifetimeMs });
    const isOurs = await this.repository.prolong(id, voice.sampleId, { sampleId, expiresAt: new Date(expiresAtMs) });
    if (!isOurs) await this.artifacts.delete(sampleId);
  }
}
