import { type Clock, systemClock } from '#common';
import { type ArtifactKind, type ArtifactRecord, newArtifactId, parseArtifactId, scopeOfModel } from './artifact.js';
import { mediaNotFound } from './storage-error.js';

/** Default lifetime of an artifact. */
export const defaultLifetimeMs = 86_400_000;

/** Creates and validates artifact ids; shared by all kinds of stores. */
export class ArtifactIdFactory {
  constructor(
    private readonly lifetimeMs = defaultLifetimeMs,
    readonly clock: Clock = systemClock,
    private readonly scope: string | null = null,
  ) {}

  /** Creates the ids of a model's jobs. */
  ofModel(modelId: string): ArtifactIdFactory {
    return new ArtifactIdFactory(this.lifetimeMs, this.clock, scopeOfModel(modelId));
  }

  newId(kind: ArtifactKind, lifetimeMs = this.lifetimeMs): string {
    return newArtifactId(kind, this.clock.nowMs() + lifetimeMs, this.scope);
  }

  /** Returns the expiry of a valid id. Throws `MEDIA_NOT_FOUND` for any other. */
  expiryOf(id: string): number {
    const parsed = parseArtifactId(id);
    if (parsed === null || parsed.expiresAtMs <= this.clock.nowMs()) throw mediaNotFound();
    return parsed.expiresAtMs;
  }

  record(id: string, content: { contentType: string; bytes: number; sha256: string }): ArtifactRecord {
    const parsed = parseArtifactId(id);
    if (parsed === null) throw mediaNotFound();
    const { kind, expiresAtMs } = parsed;
    const { contentType, bytes, sha256 } = content;
    return { id, kind, expiresAtMs, contentType, bytes, sha256, createdAtMs: this.clock.nowMs() };
  }
}
