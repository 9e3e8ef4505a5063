import { defaultKeySettings, type KeySettings } from '../api-key.js';
import type { KeyLimitsRequest } from './api-key.request.js';
import { expiryOf } from './expiry.field.js';
import { limitChanges } from './key-limits.field.js';

interface SettingsRequest extends KeyLimitsRequest {
  description?: string;
  expiresAt?: string | null;
}

/**
 * Returns the settings that a request names. Null counts as omitted, except for `expiresAt` and the members of the
 * limit, where it means none.
 */
export function settingsChanges(request: SettingsRequest): Partial<KeySettings> {
  const changes: Partial<KeySettings> = request.consumptionLimit ? limitChanges(request.consumptionLimit) : {};
  const expiresAt = expiryOf(request.expiresAt);
  if (expiresAt !== undefined) changes.expiresAt = expiresAt;
  for (const name of ['description', 'limitPeriod', 'modelPrivacy'] as const) {
    const value = request[name];
    if (value !== undefined && value !== null) Object.assign(changes, { [name]: value });
  }
  return changes;
}

export function settingsOf(request: SettingsRequest): KeySettings {
  return { ...defaultKeySettings, ...settingsChanges(request) };
}
