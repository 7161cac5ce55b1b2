import { useMemo } from 'react';
import { MyLikesDocument, type MyLikesQuery } from '../operations';
import { LiveCards } from '../ui/live-cards';
import { Pages, type PageProps } from '../ui/pages';
import { Empty, ForUsers } from '../ui/empty';

const atOnce = 20;

// Likes shows what the viewer likes, newest first. What is taken back here
// stays until the view is opened anew, so that it can be liked again.
export function Likes() {
  return (
    <>
      <header className="intro">
        <h1>Your likes</h1>
      </header>
      <ForUsers>
        <Pages
          label="likes"
          auto
          query={MyLikesDocument}
          variables={(after) => ({ first: atOnce, after })}
          info={(data) => data.viewer?.likes.pageInfo}
          page={(props) => <LikesPage {...props} />}
        />
      </ForUsers>
    </>
  );
}

function LikesPage({ data }: PageProps<MyLikesQuery>) {
  const edges = data?.viewer?.likes.edges;
  const cards = useMemo(() => edges?.map(({ node }) => node.interactive), [edges]);
  if (!cards) return null;
  if (cards.length === 0) return <Empty icon="heart">Nothing yet. What you like in the feed gathers here.</Empty>;
  return <LiveCards subjects={cards} cards={cards} />;
}
