import type { CodePointSet } from './code-points.js';

export const digits: CodePointSet = [[0x30, 0x39]];
/** What `\\w` matches, and `\\b` is an edge of. */
export const wordCharacters: CodePointSet = [...digits, [0x41, 0x5a], [0x5f, 0x5f], [0x61, 0x7a]];
