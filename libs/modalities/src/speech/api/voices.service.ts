import { PlatformError } from '#common';
import { Inject, Injectable } from '#platform/injection';
import { Logger } from '#platform/logging';
import { PrismaService } from '#platform/prisma';
import { ArtifactStore } from '#storage';
import type { SpeechModel, VoiceCloning } from './speech.model.js';
import { newVoiceHandle } from './voice-handle.js';
import { type StoredVoice, VoicesRepository } from './voices.repository.js';

/** Live voices of one account: a bound on what uploads may keep on our disks. */
export const maxVoices = 100;

const dayMs = 86_400_000;

/** Recordings of voices and the handles that stand for them. A handle is worth something to its account alone. */
@Injectable()
export class VoicesService {
  private readonly repository: VoicesRepository;

  constructor(
    prisma: PrismaService,
    private readonly artifacts: ArtifactStore,
    @Inject(Logger) private readonly logger: Pick<Logger, 'warn'>,
  ) {
    this.repository = new VoicesRepository(prisma);
  }

  /** Keeps a recording and names it. Rejects with `INVALID_REQUEST` where the account has `mostVoices` already. */
  async add(
    recording: { bytes: Buffer; contentType: string },
    owner: { accountId: string; model: SpeechModel & { cloning: VoiceCloning } },
  ): Promise<StoredVoice> {
    const { accountId, model } = owner;
    if ((await this.repository.countLive(accountId)) >= maxVoices) {
      throw new PlatformError(
        'INVALID_REQUEST',
        `An account has at most ${maxVoices} voices; they expire by themselves.`,
      );
    }
    await this.repository.forgetExpired();
    const { contentType, bytes } = recording;
    const lifetimeMs = model.cloning.retention_days * dayMs;
    const { id: sampleId, expiresAtMs } = await this.artifacts.put(bytes, { kind: 'input', contentType, lifetimeMs });
    const voice = { id: newVoiceHandle(), accountId, modelId: model.id, sampleId, expiresAt: new Date(expiresAtMs) };
    await this.repository.add(voice);
    return voice;
  }

  /** The recording behind a handle; null for a handle that is not this account's, not of this model, or expired. */
  async sampleOf(accountId: string, id: string, modelId: string): Promise<string | null> {
    return (await this.repository.find({ id, accountId, modelId }))?.sampleId ?? null;
  }

  /**
   * A persistent voice lives on from its last use, a zero-shot one from its upload. The life of a recording is part of
   * its id, so it is copied, once a day at most; the old one may still be named in a job that waits. Never rejects: what
   * the voice said is paid for and on its way, and its next use prolongs it as well.
   */
  async used(accountId: string, id: string, model: SpeechModel): Promise<void> {
    try {
      await this.prolong(accountId, id, model);
    } catch (error) {
      this.logger.warn({ modelId: model.id, error }, 'a voice that was used could not be prolonged');
    }
  }

  private async prolong(accountId: string, id: string, { id: modelId, cloning }: SpeechModel): Promise<void> {
    if (cloning?.mode !== 'persistent') return;
    const voice = await this.repository.find({ id, accountId, modelId });
    const lifetimeMs = cloning.retention_days * dayMs;
    if (voice === null || voice.expiresAt.getTime() - Date.now() > lifetimeMs - dayMs) return;
    const { id: sampleId, expiresAtMs } = await this.artifacts.copy(voice.sampleId, { kind: 'input', lifetimeMs });
    const isOurs = await this.repository.prolong(id, voice.sampleId, { sampleId, expiresAt: new Date(expiresAtMs) });
    if (!isOurs) await this.artifacts.delete(sampleId);
  }
}
