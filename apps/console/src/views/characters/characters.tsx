import type { JSX } from 'preact';
import { useQuery } from '../../api/use-query.js';
import { PlaceLink } from '../../components/place-link.js';
import { QueryView } from '../../components/states.js';
import { Table } from '../../components/table.js';
import { formatCount, formatRate } from '../../format/numbers.js';
import type { ViewProps } from '../../shell/view-props.js';
import { AddCharacter } from './add-character.js';
import { CharacterPage } from './character-page.js';
import type { Character } from './character-responses.js';

/** The characters that a chat can use. */
export function Characters({ place: { entry }, session }: ViewProps): JSX.Element {
  const isOperator = session.role === 'operator';
  if (entry === null) return <CharacterList isOperator={isOperator} />;
  return <CharacterPage key={entry} slug={entry} isOperator={isOperator} />;
}

function CharacterList({ isOperator }: { isOperator: boolean }): JSX.Element {
  const characters = useQuery<{ data: Character[] }>('api/v1/characters', { query: { limit: 100 } });
  return (
    <QueryView query={characters}>
      {({ data }) => (
        <>
          {isOperator && <AddCharacter known={data} onAdded={characters.reload} />}
          <Table
            caption="Characters"
            rows={data}
            rowKey={({ id }) => id}
            empty="There is no character. An operator adds them."
            columns={[
              {
                title: 'Name',
                cell: ({ slug, name }) => (
                  <PlaceLink view="characters" entry={slug}>
                    {name}
                  </PlaceLink>
                ),
                sort: ({ name }) => name,
              },
              { title: 'Description', cell: ({ description }) => description ?? '–' },
              { title: 'Author', cell: ({ author }) => author, sort: ({ author }) => author },
              { title: 'Model', cell: ({ modelId }) => modelId, sort: ({ modelId }) => modelId },
              { title: 'Tags', cell: ({ tags }) => tags.join(', ') || '–' },
              {
                title: 'Chats',
                cell: ({ stats }) => formatCount(stats.imports),
                sort: ({ stats }) => stats.imports,
                isNumber: true,
              },
              {
                title: 'Rating',
                cell: ({ stats }) => (stats.ratingCount === 0 ? '–' : `${formatRate(stats.averageRating)} of 5`),
                sort: ({ stats }) => stats.averageRating,
                isNumber: true,
              },
            ]}
          />
        </>
      )}
    </QueryView>
  );
}
