import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { useQuery } from '../../api/use-query.js';
import { CopyButton } from '../../components/copy-button.js';
import { PlaceLink } from '../../components/place-link.js';
import { QueryView } from '../../components/states.js';
import { Table } from '../../components/table.js';
import { Time } from '../../components/time.js';
import { formatTime } from '../../format/time.js';
import type { Character, ReviewPage } from './character-responses.js';

/** One character with its reviews. */
export function CharacterPage({ slug }: { slug: string }): JSX.Element {
  const path = `api/v1/characters/${encodeURIComponent(slug)}`;
  const character = useQuery<{ data: Character }>(path);
  return (
    <>
      <p>
        <PlaceLink view="characters">All characters</PlaceLink>
      </p>
      <QueryView query={character}>{({ data }) => <CharacterFacts character={data} />}</QueryView>
      <Reviews path={`${path}/reviews`} />
    </>
  );
}

function CharacterFacts({ character }: { character: Character }): JSX.Element {
  const { name, slug, description, author, modelId, tags, adult, webEnabled, updatedAt } = character;
  const facts: [string, string][] = [
    ['Author', author],
    ['Model', modelId],
    ['Tags', tags.join(', ') || 'none'],
    ['For adults', adult ? 'yes' : 'no'],
    ['Meant for web search', webEnabled ? 'yes' : 'no'],
    ['Changed', formatTime(updatedAt)],
  ];
  return (
    <section aria-label={name}>
      <h2>{name}</h2>
      {description !== null && <p class="plain">{description}</p>}
      <p>
        Use it in a chat as <code>service_parameters.character_slug</code> <code>{slug}</code>{' '}
        <CopyButton text={slug} />
      </p>
      <dl class="details">
        {facts.map(([title, value]) => (
          <div key={title}>
            <dt>{title}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

function Reviews({ path }: { path: string }): JSX.Element {
  const [page, setPage] = useState(1);
  const reviews = useQuery<ReviewPage>(path, { query: { page } });
  return (
    <QueryView query={reviews}>
      {({ data, pagination }) => (
        <>
          <Table
            caption="Reviews"
            rows={data}
            rowKey={({ id }) => id}
            empty="Nobody has reviewed the character yet."
            columns={[
              { title: 'Rating', cell: ({ rating }) => `${rating} of 5`, sort: ({ rating }) => rating, isNumber: true },
              { title: 'Message', cell: ({ message }) => message ?? '–' },
              { title: 'By', cell: ({ username }) => username },
              { title: 'Time', cell: ({ createdAt }) => <Time at={createdAt} /> },
            ]}
          />
          <p class="pages">
            <button type="button" disabled={page <= 1} onClick={() => setPage(page - 1)}>
              Earlier page
            </button>
            <button type="button" disabled={page >= pagination.totalPages} onClick={() => setPage(page + 1)}>
              Next page
            </button>
          </p>
        </>
      )}
    </QueryView>
  );
}
