/** Maximum bytes of kept features: those of some fifty images of a small model. */
const defaultMaxBytes = 128 * 1024 * 1024;

/** Encoded images by their hash, the least recently used dropped first: a conversation sends its images every turn. */
export class ImageFeatureCache {
  private readonly kept = new Map<string, Float32Array>();
  private bytes = 0;

  constructor(private readonly maxBytes = defaultMaxBytes) {}

  get(hash: string): Float32Array | undefined {
    const features = this.kept.get(hash);
    if (features === undefined) return undefined;
    this.kept.delete(hash);
    this.kept.set(hash, features);
    return features;
  }

  /** Ignores features that are larger than the whole cache. */
  add(hash: string, features: Float32Array): void {
    if (features.byteLength > this.maxBytes || this.kept.has(hash)) return;
    this.kept.set(hash, features);
    this.bytes += features.byteLength;
    for (const [oldest, { byteLength }] of this.kept) {
      if (this.bytes <= this.maxBytes) return;
      this.kept.delete(oldest);
      this.bytes -= byteLength;
    }
  }
}
