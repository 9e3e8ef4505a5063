/** The options of `npm test -- clients`, read before anything is installed and again by the process of the libraries. */
export const about = `npm test -- clients [options]

Real client libraries against the platform with TinyLlama. Every response must be valid. Meant for each night: 100 runs of
each check take an hour or more on two cores.`;

export const options = {
  runs: { value: 'N', about: 'runs of each check', default: 100 },
  parallel: { value: 'N', about: 'runs at once', default: 8 },
  only: { value: 'TEXT', about: 'only checks whose names begin so', default: '' },
};
