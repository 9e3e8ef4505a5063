/* Responses in the forms that the providers document, with marked words, encoded characters and unusable entries. */

export const braveBody = {
  type: 'search',
  query: { original: 'sluice gates', more_results_available: true },
  web: {
    type: 'search',
    results: [
      {
        title: 'Sluice &amp; gate',
        url: 'https://example.org/sluice',
        description: 'A <strong>sluice</strong> is a water channel&#x27;s gate.',
        page_age: '2026-03-01T10:00:00',
        age: 'March 1, 2026',
        language: 'en',
        family_friendly: true,
      },
      { title: 'Script', url: 'javascript:alert(1)', description: 'not a page' },
      { title: 'Again', url: 'https://example.org/sluice', description: 'the same page' },
    ],
  },
};

export const tavilyBody = {
  query: 'sluice gates',
  answer: null,
  images: [],
  results: [
    { title: 'Sluice & gate', url: 'https://example.org/sluice', content: "A sluice is a water channel's gate.", score: 0.9 },
    { title: 'User', url: 'https://user:password@example.org/', content: 'holds a password', score: 0.1 },
  ],
  response_time: 1.1,
};

export const serperBody = {
  searchParameters: { q: 'sluice gates', type: 'search', num: 10, engine: 'google' },
  organic: [
    {
      title: 'Sluice & gate',
      link: 'https://example.org/sluice',
      snippet: "A sluice is a water channel's gate.",
      date: 'Mar 1, 2026',
      position: 1,
    },
  ],
  credits: 1,
};

export const searxngBody = {
  query: 'sluice gates',
  number_of_results: 0,
  results: [
    {
      url: 'https://example.org/sluice',
      title: 'Sluice & gate',
      content: "A sluice is a water channel's gate.",
      publishedDate: '2026-03-01T10:00:00',
      engine: 'fixture',
      score: 1,
      category: 'general',
    },
    'not an object',
  ],
  unresponsive_engines: [],
};
