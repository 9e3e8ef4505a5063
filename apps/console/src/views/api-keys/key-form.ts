/** The fields of the form for a new key: texts, as typed. */
export interface KeyForm {
  description: string;
  apiKeyType: 'INFERENCE' | 'ADMIN';
  /** Empty: no limit. */
  limitUsd: string;
  limitPeriod: string;
  /** `2027-01-31T12:00` in the viewer's zone; empty: never. */
  expires: string;
}

export const emptyKeyForm: KeyForm = {
  description: '',
  apiKeyType: 'INFERENCE',
  limitUsd: '',
  limitPeriod: 'EPOCH',
  expires: '',
};

/** Returns the body of the request that creates the key. */
export function keyRequestOf(form: KeyForm): Record<string, unknown> {
  const limit = form.limitUsd.trim();
  return {
    description: form.description.trim(),
    apiKeyType: form.apiKeyType,
    limitPeriod: form.limitPeriod,
    // An empty field is no limit, while 0 forbids spending.
    ...(limit === '' ? {} : { consumptionLimit: { usd: Number(limit) } }),
    ...(form.expires === '' ? {} : { expiresAt: new Date(form.expires).toISOString() }),
  };
}
