import { randomBytes } from 'node:crypto';

const shape = /^vv_[A-Za-z0-9_-]{24}$/;

/** Returns a handle of 144 random bits, which cannot be guessed. */
export function newVoiceHandle(): string {
  return `vv_${randomBytes(18).toString('base64url')}`;
}

export function isVoiceHandle(text: string): boolean {
  return shape.test(text);
}
