import { useMemo } from 'react';
import { useSubscription } from 'urql';
import { t } from '../messages';
import {
  FollowersDocument,
  FollowingDocument,
  FriendsDocument,
  LiveDocument,
  PersonFoldersDocument,
  PersonLikesDocument,
  type CardFragment,
  type NamedFragment,
} from '../operations';
import type { Section } from '../route';
import { useSession } from '../session';
import { Empty } from './empty';
import { FolderShelves } from './folder-pages';
import { PersonRow } from './follow-button';
import { Gallery } from './gallery';
import { useName } from './name';
import { NewFolderButton } from './new-folder-button';
import { PersonClips } from './person-clips';
import { Pages } from './pages';
import { Reads } from './reads';

const atOnce = 20;

type Profile = NamedFragment['profile'];

// PersonSection shows one section of a person, page by page.
export function PersonSection({ userId, section }: { userId: string; section: Section }) {
  const { userId: viewer } = useSession();
  const name = useName(userId);
  const who = userId === viewer ? null : name;
  const variables = (after: string | null) => ({ userId, first: atOnce, after });
  switch (section) {
    case 'clips':
      return <PersonClips userId={userId} />;
    case 'likes':
      return <Gallery label={t.more.likes} query={PersonLikesDocument} variables={variables} list={({ user }) => user.likes} icon="heart" none={t.people.noLikes(who)} />;
    case 'folders':
      return (
        <>
          {userId === viewer && <NewFolderButton />}
          <Pages
            label={t.more.folders}
            auto
            query={PersonFoldersDocument}
            variables={variables}
            info={({ user }) => user.folders.pageInfo}
            page={({ data, first }) => {
              const folders = data?.user.folders.edges.map(({ node }) => node);
              if (folders?.length === 0 && first) return <Empty icon="folder">{userId === viewer ? t.folders.noneOfYours : t.folders.noneOf(name)}</Empty>;
              return folders && <FolderShelves folders={folders} />;
            }}
          />
        </>
      );
    case 'reads':
      return userId === viewer ? <Reads /> : <Empty icon="eye">{t.people.hiddenReads(name)}</Empty>;
    case 'friends':
      return (
        <Pages
          label={t.more.friends}
          auto
          query={FriendsDocument}
          variables={variables}
          info={({ user }) => user.friends.pageInfo}
          page={({ data, first }) => (
            <PeoplePage
              people={data?.user.friends.edges.map(({ node }) => node.user.interactive)}
              // A page may be empty without being the last.
              none={first && !data?.user.friends.pageInfo.hasNextPage ? t.people.noFriends(who) : undefined}
            />
          )}
        />
      );
    case 'following':
      return (
        <Pages
          label={t.more.people}
          auto
          query={FollowingDocument}
          variables={variables}
          info={({ user }) => user.following.pageInfo}
          page={({ data, first }) => (
            <PeoplePage people={data?.user.following.edges.map(({ node }) => node.interactive)} none={first ? t.people.noFollowing(who) : undefined} />
          )}
        />
      );
    case 'followers':
      return (
        <Pages
          label={t.more.followers}
          auto
          query={FollowersDocument}
          variables={variables}
          info={({ user }) => user.followers.pageInfo}
          page={({ data, first }) => (
            <PeoplePage people={data?.user.followers.edges.map(({ node }) => node.user.interactive)} none={first ? t.people.noFollowers(who) : undefined} />
          )}
        />
      );
  }
}

// PeoplePage lists people, with live counts of their followers. Someone whom the viewer
// unfollows stays until the list is opened again. Profiles that are passed are not looked up.
export function PeoplePage({ people, profiles, none }: { people: readonly CardFragment[] | undefined; profiles?: readonly Profile[] | undefined; none: string | undefined }) {
  const { known } = useSession();
  const names = people?.map((person) => person.bizId).join('\n') ?? '';
  const subjects = useMemo(() => names.split('\n').filter(Boolean).map((bizId) => ({ biz: 'user', bizId })), [names]);
  useSubscription({ query: LiveDocument, variables: { subjects }, pause: !known || subjects.length === 0 });
  if (!people) return null;
  if (people.length === 0) return none ? <Empty icon="people">{none}</Empty> : null;
  return (
    <ul className="person-rows">
      {people.map((person, i) => (
        <PersonRow key={person.bizId} person={person} profile={profiles?.[i]} />
      ))}
    </ul>
  );
}
