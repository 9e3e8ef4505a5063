import { describe, expect, it } from 'vitest';
import { outdatedNode } from './node-release.js';

describe('outdatedNode', () => {
  it('names the last day of a version that gets no security updates any more', () => {
    expect(outdatedNode('v20.20.2', new Date('2026-04-30T12:00:00Z'))).toBeNull();
    expect(outdatedNode('v20.20.2', new Date('2026-05-01T12:00:00Z'))).toBe(
      'Node 20 has received no security updates since 2026-04-30. Use Node 22 or 24.',
    );
    expect(outdatedNode('24.3.0', new Date('2028-05-02T00:00:00Z'))).toContain('Node 24');
  });

  it('says nothing of supported versions and of unknown ones', () => {
    const now = new Date('2026-11-28T00:00:00Z');
    for (const version of ['v22.12.0', 'v24.0.0', 'v26.1.0', 'v99.0.0', 'x']) {
      expect(outdatedNode(version, now)).toBeNull();
    }
  });
});
