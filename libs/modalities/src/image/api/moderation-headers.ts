/** What image routes say of the pictures they send (contract 19). */
export function moderationHeaders(images: readonly { blurred: boolean }[]): Record<string, string> {
  return {
    'x-service-is-blurred': String(images.some(({ blurred }) => blurred)),
    // Nothing is refused for what it shows: what is for adults is blurred. No model of ours looks for the other two.
    'x-service-is-content-violation': 'false',
    'x-service-is-adult-model-content-violation': 'false',
    'x-service-contains-minor': 'false',
  };
}
