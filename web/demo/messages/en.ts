import { formatsOf } from './format';

// The English messages, which define what every other language has.
export const en = {
  lang: 'en', // of the page, for <html lang>
  format: formatsOf('en'),

  // Words that stand in several places.
  save: 'Save',

  account: {
    title: 'Your account',
    profile: 'Edit your profile',
    name: 'Name',
    signature: 'About you',
    profileSaved: 'Profile saved.',
    password: 'Change the password',
    currentPassword: 'Current password',
    newPassword: 'New password',
    changePassword: 'Change it',
    passwordHint: 'This logs you out on all other devices.',
    passwordChanged: 'Password changed.',
    logOut: 'Log out',
    logOutEverywhere: 'Log out everywhere',
  },

  // What was attempted, as it follows “Could not”.
  attempts: {
    logOutEverywhere: 'log out everywhere',
  },
};
