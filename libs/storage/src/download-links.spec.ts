import { describe, expect, it } from 'vitest';
import { newArtifactId } from './artifact.js';
import { DownloadLinks } from './download-links.js';

const [older, newer] = ['ab'.repeat(32), 'cd'.repeat(32)] as const;

describe('download links', () => {
  it('of a key that is being changed stay valid', () => {
    const artifactId = newArtifactId('result', Date.now() + 60_000);
    const old = new DownloadLinks(older).tokenFor(artifactId);
    const during = new DownloadLinks([newer, older]);
    expect(during.read(old)).toMatchObject({ artifactId });
    expect(new DownloadLinks(newer).read(during.tokenFor(artifactId))).toMatchObject({ artifactId });
    expect(() => new DownloadLinks(newer).read(old)).toThrow(expect.objectContaining({ code: 'MEDIA_NOT_FOUND' }));
  });
});
