import { t } from '../messages';
import { MyLikesDocument } from '../operations';
import { ForUsers } from '../ui/empty';
import { Gallery } from '../ui/gallery';

const atOnce = 20;

// Likes shows what the viewer likes, newest first. An item that is unliked here stays until
// the view is opened again, so that it can be liked again.
export function Likes() {
  return (
    <>
      <header className="intro">
        <h1>{t.titles.likes}</h1>
      </header>
      <ForUsers>
        <Gallery
          label={t.more.likes}
          query={MyLikesDocument}
          variables={(after) => ({ first: atOnce, after })}
          list={(data) => data.viewer?.likes}
          icon="heart"
          none={t.items.noLikes}
        />
      </ForUsers>
    </>
  );
}
