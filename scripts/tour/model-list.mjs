/** How long a model may still be pulled and loaded. */
const waitMs = 1_800_000;
const pollMs = 2_000;

/** The models of an installation. */
export class ModelList {
  constructor(client) {
    this.client = client;
  }

  /** Returns the entries of `GET /models` that a step can use, those that are online first. */
  async matching({ type, trait, accepts = () => true }) {
    const { data } = await this.client.get('/models?type=all');
    const fits = data.filter((model) => model.type === type && accepts(model.model_spec));
    const rank = ({ model_spec: spec }) => (spec.offline ? 2 : 0) + (trait && !spec.traits.includes(trait) ? 1 : 0);
    return fits.sort((left, right) => rank(left) - rank(right));
  }

  /** Returns a model that is online; null without one. Unless it is quick, it waits for one that is being pulled. */
  async choose(wanted, { isQuick }) {
    const deadline = performance.now() + (isQuick ? 0 : waitMs);
    for (;;) {
      const [first] = await this.matching(wanted);
      if (first === undefined) return null;
      if (!first.model_spec.offline) return first;
      if (performance.now() >= deadline) return null;
      await new Promise((resolve) => setTimeout(resolve, pollMs));
    }
  }
}
