import { describe, expect, it } from 'vitest';
import { ToolProcess } from './tool-process.js';

describe('a tool that the machine cannot start', () => {
  it('accepts input, produces no output, and fails as lost', async () => {
    // No program can have this name: starting it throws, as without memory.
    const tool = new ToolProcess({ program: 'no\0tool', args: [], timeoutMs: 1_000, maxResidentBytes: 2 ** 30 });
    await tool.write(new Uint8Array(10));
    tool.closeInput();
    expect(tool.hasEnded).toBe(true);
    expect(await tool.output.toArray()).toEqual([]);
    await expect(tool.finished()).rejects.toMatchObject({ name: 'ToolFailure', end: 'lost' });
    await tool.dispose();
  });
});
