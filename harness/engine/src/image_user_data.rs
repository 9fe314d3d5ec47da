//! Which program runs the user data on an image.

use std::borrow::Cow;

use nodejoin_core::observation::ImagePart;
use nodejoin_core::plan::{Plan, UserDataEngine};
use nodejoin_docker::ImageRef;

/// The plan with user data that the harness runs, for an image without cloud-init.
pub(crate) fn without_cloud_init<'a>(plan: &'a Plan, image: &ImageRef) -> Cow<'a, Plan> {
    let lacks = image
        .facts
        .as_ref()
        .is_some_and(|facts| facts.lacks(ImagePart::CloudInit));
    let mut plan = Cow::Borrowed(plan);
    if lacks && let Some(user_data) = &mut plan.to_mut().user_data {
        user_data.engine = UserDataEngine::Direct;
    }
    plan
}

#[cfg(test)]
mod tests {
    use nodejoin_core::observation::ImageFacts;

    use super::*;
    use crate::testing::plan;

    #[test]
    fn the_harness_runs_the_user_data_of_an_image_without_cloud_init() {
        let plan = plan("name: x\nuser_data: '#!/bin/sh'\n");
        let engine = |cloud_init: Option<&str>| {
            let facts = ImageFacts {
                cloud_init: cloud_init.map(str::to_owned),
                ..ImageFacts::default()
            };
            let image = ImageRef {
                facts: Some(facts),
                ..ImageRef::own("x", "v1.20.2")
            };
            let plan = without_cloud_init(&plan, &image).into_owned();
            plan.user_data.map(|user_data| user_data.engine)
        };
        assert_eq!(engine(None), Some(UserDataEngine::Direct));
        assert_eq!(engine(Some("22.4.2")), Some(UserDataEngine::CloudInit));
        let own = ImageRef::own("nodejoin/al2:1", "v1.20.2");
        assert!(matches!(without_cloud_init(&plan, &own), Cow::Borrowed(_)));
    }
}
