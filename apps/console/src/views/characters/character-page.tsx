import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { type Query, useQuery } from '../../api/use-query.js';
import { CopyButton } from '../../components/copy-button.js';
import { PlaceLink } from '../../components/place-link.js';
import { QueryView } from '../../components/states.js';
import { Table } from '../../components/table.js';
import { Time } from '../../components/time.js';
import { formatTime } from '../../format/time.js';
import { goTo } from '../../routing/use-place.js';
import type { Character, ReviewPage } from './character-responses.js';
import { OperatedCharacter } from './operated-character.js';

/** One character with its reviews. */
export function CharacterPage({ slug, isOperator }: { slug: string; isOperator: boolean }): JSX.Element {
  const path = `api/v1/characters/${encodeURIComponent(slug)}`;
  const character = useQuery<{ data: Character }>(path);
  const [page, setPage] = useState(1);
  const reviews = useQuery<ReviewPage>(`${path}/reviews`, { query: { page } });
  const reload = (): void => {
    character.reload();
    reviews.reload();
  };
  return (
    <>
      <p>
        <PlaceLink view="characters">All characters</PlaceLink>
      </p>
      <QueryView query={character}>{({ data }) => <CharacterFacts character={data} />}</QueryView>
      {isOperator && character.data !== null && (
        <OperatedCharacter
          slug={slug}
          onChanged={reload}
          onRemoved={() => goTo({ view: 'characters', entry: null, filters: {} })}
        />
      )}
      <Reviews reviews={reviews} page={page} setPage={setPage} />
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

interface ReviewsProps {
  reviews: Query<ReviewPage>;
  page: number;
  setPage: (page: number) => void;
}

function Reviews({ reviews, page, setPage }: ReviewsProps): JSX.Element {
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
